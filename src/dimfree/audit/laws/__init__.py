"""True laws of the code on tiny worlds: what neighbours really give away, without sampling."""
