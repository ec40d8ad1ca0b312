"""Tables of a store, and the statements that fill and read them."""

APPLICATION_ID = 0x43494142
SCHEMA_VERSION = 1

SCHEMA = (
    """CREATE TABLE experiment (
        id INTEGER PRIMARY KEY CHECK (id = 1), spec TEXT NOT NULL, hash TEXT NOT NULL,
        result_version INTEGER NOT NULL, environments TEXT NOT NULL)""",
    """CREATE TABLE family (
        id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE,
        n INTEGER NOT NULL, k INTEGER NOT NULL, b REAL NOT NULL)""",
    """CREATE TABLE learner (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, identity TEXT NOT NULL)""",
    """CREATE TABLE cell (
        id INTEGER PRIMARY KEY, family INTEGER NOT NULL REFERENCES family (id), trial INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('done', 'failed')), error TEXT,
        best REAL, constant REAL, difficulty REAL, draws INTEGER, seconds REAL NOT NULL,
        seed INTEGER NOT NULL, UNIQUE (family, trial))""",
    """CREATE TABLE score (
        cell INTEGER NOT NULL REFERENCES cell (id), learner INTEGER NOT NULL REFERENCES learner (id),
        size INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('done', 'failed')), error TEXT,
        success REAL, t REAL, t_error REAL, fit_seconds REAL, n_iter INTEGER,
        PRIMARY KEY (cell, learner, size)) WITHOUT ROWID""",
    "CREATE INDEX failed_score ON score (cell) WHERE state = 'failed'",
    "CREATE INDEX failed_cell ON cell (id) WHERE state = 'failed'",
    # Of every cell with its scores, and as cell 0 of the tables that name them.
    "CREATE TABLE checksum (cell INTEGER PRIMARY KEY, value INTEGER NOT NULL)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

PUT_CELL = """
    INSERT INTO cell (family, trial, state, error, best, constant, difficulty, draws, seconds, seed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (family, trial) DO UPDATE SET
        state = excluded.state, error = excluded.error, best = excluded.best, constant = excluded.constant,
        difficulty = excluded.difficulty, draws = excluded.draws, seconds = excluded.seconds
    WHERE state = 'failed'"""

COMPLETE_CELLS = """
    SELECT count(*) FROM (
        SELECT 1 FROM score JOIN cell ON cell.id = score.cell
        WHERE trial < ? AND (score.state = 'done' OR NOT ?) GROUP BY cell.id HAVING count(*) = ?)"""

PUT_SCORE = "INSERT OR REPLACE INTO score VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

TASK = "coalesce(json_extract(family.identity, '$.pair'), printf('CIA(%d, %d, %g)', n, k, b))"
"""What a family is called."""

HAS_PAIRS = "SELECT count(*) FROM family WHERE json_extract(identity, '$.pair') IS NOT NULL"

FAMILIES = f"SELECT id, n, k, b, {TASK} FROM family ORDER BY n, k, b"  # TASK is a constant  # nosec B608

FAILURES = f"""
    SELECT n, k, b, trial, NULL, NULL, cell.error, {TASK} FROM cell JOIN family ON family.id = cell.family
    WHERE cell.state = 'failed'
    UNION ALL
    SELECT n, k, b, trial, size, name, score.error, {TASK}
    FROM score JOIN cell ON cell.id = score.cell JOIN family ON family.id = cell.family
    JOIN learner ON learner.id = score.learner
    WHERE score.state = 'failed' AND cell.state = 'done'
    ORDER BY 1, 2, 3, 4, 5, 6"""  # TASK is a constant  # nosec B608

HEAD = ("SELECT * FROM experiment", "SELECT * FROM family ORDER BY id", "SELECT * FROM learner ORDER BY id")
"""What the checksum of cell 0 is made of."""

CELLS = "SELECT id FROM cell WHERE family = ? ORDER BY trial"

CELL = """
    SELECT id, family, trial, best, constant, state = 'done', coalesce(error, 0), difficulty, draws, seconds, seed
    FROM cell WHERE id = ?"""

SCORES = """
    SELECT learner, size, state = 'done', success, t, t_error, fit_seconds, coalesce(n_iter, -1), coalesce(error, 0)
    FROM score WHERE cell = ? ORDER BY size, learner"""

UNMATCHED = """
    SELECT (SELECT count(*) FROM cell LEFT JOIN checksum ON checksum.cell = cell.id WHERE value IS NULL)
        + (SELECT count(*) FROM checksum LEFT JOIN cell ON id = checksum.cell WHERE id IS NULL AND checksum.cell != ?)
        + (SELECT count(*) FROM score LEFT JOIN cell ON cell.id = score.cell WHERE id IS NULL)"""

PUT_CHECKSUM = "INSERT OR REPLACE INTO checksum VALUES (?, ?)"
