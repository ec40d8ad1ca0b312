"""The machine for hidden variables: pieces, lanes, EM and its acceleration, on arrays only."""
