window.YTD.tweets.part0 = [
  {
    "tweet" : {
      "id" : "1585341984679469056", "id_str" : "1585341984679469056",
      "full_text" : "The river is over the bridge", "lang" : "en",
      "created_at" : "Wed Oct 26 18:31:28 +0000 2022", "entities" : { "urls" : [ ] }
    }
  }
]
