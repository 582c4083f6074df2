"""Recipe of the model that ships: ``make pretrained``."""
