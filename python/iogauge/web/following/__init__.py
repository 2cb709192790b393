"""Running measurements on pages: ``summary`` has their figures in words, ``stream`` sends what they publish."""
