"""The leaderboard: all systems on the same tests, with choices locked on dev pools beforehand."""
