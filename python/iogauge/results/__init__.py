"""A room.."""
