"""How the models of this folder, and the one that ships, were trained."""
