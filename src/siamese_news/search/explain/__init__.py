"""Why a post has its score: by word, by sentence, by part of the score."""
