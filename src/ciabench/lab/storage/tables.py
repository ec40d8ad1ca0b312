"""The tables of a store, and the statements that fill and read them.

Rows are keyed by content: worlds and learners by identity and version, cells by world and trial, scores by cell,
learner and size. The `view` of the experiment records which of them its file asks for, and under which names.
"""

APPLICATION_ID = 0x43494142
SCHEMA_VERSION = 2

SCHEMA = (
    """CREATE TABLE experiment (
        id INTEGER PRIMARY KEY CHECK (id = 1), seed INTEGER NOT NULL, spec TEXT NOT NULL, view TEXT NOT NULL,
        environments TEXT NOT NULL)""",
    """CREATE TABLE world (
        id INTEGER PRIMARY KEY, identity TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
        parameters TEXT NOT NULL, UNIQUE (identity, version))""",
    """CREATE TABLE learner (
        id INTEGER PRIMARY KEY, identity TEXT NOT NULL, version INTEGER NOT NULL, is_reference INTEGER NOT NULL,
        name TEXT NOT NULL, UNIQUE (identity, version, is_reference))""",
    """CREATE TABLE cell (
        id INTEGER PRIMARY KEY, world INTEGER NOT NULL REFERENCES world (id), trial INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('done', 'failed')), error TEXT,
        best REAL, constant REAL, seconds REAL NOT NULL, facts TEXT, UNIQUE (world, trial))""",
    """CREATE TABLE score (
        cell INTEGER NOT NULL REFERENCES cell (id), learner INTEGER NOT NULL REFERENCES learner (id),
        size INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('done', 'failed')), error TEXT,
        success REAL, t REAL, t_error REAL, fit_seconds REAL, facts TEXT,
        PRIMARY KEY (cell, learner, size)) WITHOUT ROWID""",
    "CREATE INDEX failed_score ON score (cell) WHERE state = 'failed'",
    "CREATE INDEX failed_cell ON cell (id) WHERE state = 'failed'",
    # One for every cell with its scores; as cell 0, one for the tables experiment, world and learner.
    "CREATE TABLE checksum (cell INTEGER PRIMARY KEY, value INTEGER NOT NULL)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

PUT_EXPERIMENT = "INSERT OR REPLACE INTO experiment VALUES (1, :seed, :spec, :view, :environments)"

PUT_WORLD = """
    INSERT INTO world (identity, version, name, parameters) VALUES (:identity, :version, :name, :parameters)
    ON CONFLICT (identity, version) DO UPDATE SET name = excluded.name, parameters = excluded.parameters"""

FIND_WORLD = "SELECT id FROM world WHERE identity = :identity AND version = :version"

PUT_LEARNER = """
    INSERT INTO learner (identity, version, is_reference, name) VALUES (:identity, :version, :is_reference, :name)
    ON CONFLICT (identity, version, is_reference) DO UPDATE SET name = excluded.name"""

FIND_LEARNER = """
    SELECT id FROM learner WHERE identity = :identity AND version = :version AND is_reference = :is_reference"""

PUT_CELL = """
    INSERT INTO cell (world, trial, best, constant, state, seconds, error, facts)
    VALUES (?, ?, ?, ?, iif(?, 'done', 'failed'), ?, nullif(?, ''), nullif(?, ''))
    ON CONFLICT (world, trial) DO UPDATE SET
        state = excluded.state, error = excluded.error, best = excluded.best, constant = excluded.constant,
        seconds = excluded.seconds, facts = excluded.facts
    WHERE state = 'failed'"""

PUT_SCORE = """
    INSERT OR REPLACE INTO score (cell, learner, size, state, success, t, t_error, fit_seconds, error, facts)
    VALUES (?, ?, ?, iif(?, 'done', 'failed'), ?, ?, ?, ?, nullif(?, ''), nullif(?, ''))"""

FIND_CELL = "SELECT id, best FROM cell WHERE world = ? AND trial = ?"

LAST_CELL = "SELECT coalesce(max(id), 0) FROM cell"

PRESENT = """
    SELECT trial, learner, size FROM cell JOIN score ON score.cell = cell.id
    WHERE world = ? AND trial >= ? AND trial < ? AND (score.state = 'done' OR NOT ?)"""

IN_VIEW = """
    trial < (SELECT json_extract(view, '$.trials') FROM experiment)
    AND world IN (SELECT value FROM experiment, json_each(view, '$.worlds'))"""
"""Condition that the experiment file asks for a cell."""

IS_SHOWN = """
    size IN (SELECT value FROM experiment, json_each(view, '$.sizes'))
    AND learner IN (SELECT value FROM experiment, json_each(view, '$.learners.ids'))"""
"""Condition that the experiment file asks for a score if it asks for its cell."""

SCORE_IN_VIEW = f"{IN_VIEW} AND {IS_SHOWN}"

CELLS_IN_VIEW = f"SELECT count(*) FROM cell WHERE {IN_VIEW}"  # made of constants  # nosec B608

ALL_SCORES = "SELECT count(*) FROM score"

SHOWN_SCORES = f"SELECT count(*) FROM score WHERE {IS_SHOWN}"  # made of constants  # nosec B608

SHOWN_BEYOND = f"""
    SELECT count(*) FROM cell CROSS JOIN score ON score.cell = cell.id
    WHERE NOT ({IN_VIEW}) AND {IS_SHOWN}"""  # made of constants  # nosec B608
"""Number of scores that count among `SHOWN_SCORES` although the experiment file does not ask for their cells."""

FAILED_SCORES = f"""
    SELECT count(*), count(*) FILTER (WHERE {SCORE_IN_VIEW})
    FROM score INDEXED BY failed_score CROSS JOIN cell ON cell.id = score.cell
    WHERE score.state = 'failed'"""  # made of constants  # nosec B608

SIZES = "SELECT DISTINCT size FROM score ORDER BY size"

LEARNERS = "SELECT id FROM learner"

COMPLETE_CELLS = f"""
    SELECT count(*) FROM (
        SELECT 1 FROM score JOIN cell ON cell.id = score.cell
        WHERE world = ? AND (score.state = 'done' OR NOT ?) AND {SCORE_IN_VIEW}
        GROUP BY cell.id HAVING count(*) = ?)"""  # made of constants  # nosec B608

FAILURES = f"""
    SELECT world.name, trial, NULL, NULL, cell.error
    FROM cell INDEXED BY failed_cell CROSS JOIN world ON world.id = cell.world
    WHERE cell.state = 'failed' AND {IN_VIEW}
    UNION ALL
    SELECT world.name, trial, size, learner.name, score.error
    FROM score INDEXED BY failed_score CROSS JOIN cell ON cell.id = score.cell
    CROSS JOIN world ON world.id = cell.world CROSS JOIN learner ON learner.id = score.learner
    WHERE score.state = 'failed' AND cell.state = 'done' AND {SCORE_IN_VIEW}
    ORDER BY 1, 2, 3, 4"""  # made of constants  # nosec B608

HEAD = ("SELECT * FROM experiment", "SELECT * FROM world ORDER BY id", "SELECT * FROM learner ORDER BY id")
"""Queries whose results the checksum of cell 0 covers."""

# The columns of cells and of scores are those that `PUT_CELL` and `PUT_SCORE` write, in their order.
CELL_COLUMNS = (
    "id",
    "world",
    "trial",
    "best",
    "constant",
    "cell.state = 'done'",
    "seconds",
    "coalesce(cell.error, '')",
    "coalesce(cell.facts, '')",
)

SCORE_COLUMNS = (
    "learner",
    "size",
    "score.state = 'done'",
    "success",
    "t",
    "t_error",
    "fit_seconds",
    "coalesce(score.error, '')",
    "coalesce(score.facts, '')",
)

_CELL, _SCORE = ", ".join(CELL_COLUMNS), ", ".join(SCORE_COLUMNS)

CELL = f"SELECT {_CELL} FROM cell WHERE id = ?"  # made of constants  # nosec B608

SCORES = f"SELECT {_SCORE} FROM score WHERE cell = ? ORDER BY size, learner"  # made of constants  # nosec B608

CELLS = f"""
    SELECT {_CELL}, value FROM cell JOIN checksum ON checksum.cell = id
    WHERE world = ? ORDER BY trial"""  # made of constants  # nosec B608
"""All cells of a world, and their checksums."""

SCORES_OF_TRIALS = f"""
    SELECT id, {_SCORE} FROM cell JOIN score ON score.cell = id
    WHERE world = ? AND trial BETWEEN ? AND ? ORDER BY trial, size, learner"""  # made of constants  # nosec B608

WORLDS = "SELECT DISTINCT world FROM cell"

N_NUMBERS = 7
"""Columns of cells and of scores that hold numbers; the others hold text."""

UNMATCHED = """
    SELECT (SELECT count(*) FROM cell LEFT JOIN checksum ON checksum.cell = cell.id WHERE value IS NULL)
        + (SELECT count(*) FROM checksum LEFT JOIN cell ON id = checksum.cell WHERE id IS NULL AND checksum.cell != ?)
        + (SELECT count(*) FROM score LEFT JOIN cell ON cell.id = score.cell WHERE id IS NULL)"""

PUT_CHECKSUM = "INSERT OR REPLACE INTO checksum VALUES (?, ?)"

MATCH_PART = (
    """INSERT INTO world (identity, version, name, parameters)
        SELECT identity, version, name, parameters FROM part.world WHERE true ORDER BY id ON CONFLICT DO NOTHING""",
    """INSERT INTO learner (identity, version, is_reference, name)
        SELECT identity, version, is_reference, name FROM part.learner WHERE true ORDER BY id ON CONFLICT DO NOTHING""",
    """CREATE TEMP TABLE world_match AS SELECT theirs.id AS part, ours.id AS id
        FROM part.world theirs JOIN main.world ours USING (identity, version)""",
    """CREATE TEMP TABLE learner_match AS SELECT theirs.id AS part, ours.id AS id
        FROM part.learner theirs JOIN main.learner ours USING (identity, version, is_reference)""",
)
"""Statements that match the worlds and learners of an attached store, `part`, with those of the merged one."""

CONFLICT = """
    SELECT world.name, theirs.trial, NULL, NULL
    FROM part.cell theirs JOIN world_match ON world_match.part = theirs.world
    JOIN main.cell ours ON ours.world = world_match.id AND ours.trial = theirs.trial
    JOIN main.world ON world.id = ours.world
    WHERE ours.state = 'done' AND theirs.state = 'done'
        AND (ours.best IS NOT theirs.best OR ours.constant IS NOT theirs.constant)
    UNION ALL
    SELECT world.name, cell.trial, learner.name, theirs.size
    FROM part.score theirs JOIN part.cell ON cell.id = theirs.cell JOIN world_match ON world_match.part = cell.world
    JOIN learner_match ON learner_match.part = theirs.learner
    JOIN main.cell our_cell ON our_cell.world = world_match.id AND our_cell.trial = cell.trial
    JOIN main.score ours ON ours.cell = our_cell.id AND ours.learner = learner_match.id AND ours.size = theirs.size
    JOIN main.world ON world.id = our_cell.world JOIN main.learner ON learner.id = ours.learner
    WHERE ours.state = 'done' AND theirs.state = 'done'
        AND (ours.success IS NOT theirs.success OR ours.t IS NOT theirs.t OR ours.t_error IS NOT theirs.t_error)
    LIMIT 1"""
"""A cell or score that both stores have, with different values."""

COPY_PART = (
    """INSERT INTO main.cell (world, trial, state, error, best, constant, seconds, facts)
        SELECT world_match.id, trial, state, error, best, constant, seconds, facts
        FROM part.cell JOIN world_match ON world_match.part = world ORDER BY cell.id
        ON CONFLICT (world, trial) DO UPDATE SET
            state = excluded.state, error = excluded.error, best = excluded.best, constant = excluded.constant,
            seconds = excluded.seconds, facts = excluded.facts
        WHERE state = 'failed'""",
    """CREATE TEMP TABLE cell_match AS SELECT theirs.id AS part, ours.id AS id
        FROM part.cell theirs JOIN world_match ON world_match.part = theirs.world
        JOIN main.cell ours ON ours.world = world_match.id AND ours.trial = theirs.trial ORDER BY theirs.id""",
    """INSERT INTO main.score (cell, learner, size, state, error, success, t, t_error, fit_seconds, facts)
        SELECT cell_match.id, learner_match.id, size, state, error, success, t, t_error, fit_seconds, facts
        FROM cell_match JOIN part.score ON score.cell = cell_match.part
        JOIN learner_match ON learner_match.part = learner WHERE true
        ON CONFLICT (cell, learner, size) DO UPDATE SET
            state = excluded.state, error = excluded.error, success = excluded.success, t = excluded.t,
            t_error = excluded.t_error, fit_seconds = excluded.fit_seconds, facts = excluded.facts
        WHERE state = 'failed'""",
)

COPIED_CELLS = "SELECT id FROM cell_match"

MATCHES = ("SELECT part, id FROM world_match", "SELECT part, id FROM learner_match")

FORGET_PART = ("DROP TABLE world_match", "DROP TABLE learner_match", "DROP TABLE cell_match")

OFFERED = """
    SELECT DISTINCT cell.world, score.learner FROM score JOIN cell ON cell.id = score.cell
    JOIN learner ON learner.id = score.learner WHERE is_reference"""
"""Worlds with the references that they have scores of."""
