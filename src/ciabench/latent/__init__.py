"""Models with a hidden variable, on arrays only: data in pieces, lanes, EM and its acceleration."""
