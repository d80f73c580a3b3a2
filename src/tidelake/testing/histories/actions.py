"""Some random change to a lake, of all kinds there are."""

from random import Random

from tidelake.testing.histories.action import Action, Maker
from tidelake.testing.histories.column_actions import (
    add_column,
    change_field,
    drop_column,
    rename_column,
    reorder,
    set_default,
    widen,
)
from tidelake.testing.histories.model import Model
from tidelake.testing.histories.row_actions import (
    append,
    delete,
    merge,
    overwrite,
    rollback,
    update,
)
from tidelake.testing.histories.table_actions import (
    create_schema,
    create_table,
    create_view,
    drop_schema,
    drop_table,
    drop_view,
    rename_table,
    set_partitioning,
    set_sorting,
)

ON_ROWS: tuple[Maker, ...] = (
    *(append, append, append, delete, update, update, overwrite, merge),
    rollback,
)
ON_SHAPES: tuple[Maker, ...] = (
    add_column,
    add_column,
    drop_column,
    rename_column,
    widen,
    widen,
    reorder,
    set_default,
    change_field,
    create_table,
    create_table,
    drop_table,
    rename_table,
    create_schema,
    drop_schema,
    set_partitioning,
    set_sorting,
    create_view,
    drop_view,
)


def any_action(model: Model, chance: Random) -> Action:
    """Some change that is possible now."""
    while True:
        if not model.now.tables:
            maker: Maker = create_table
        else:
            maker = chance.choice(ON_ROWS if chance.random() < 0.65 else ON_SHAPES)
        action = maker(model, chance)
        if action is not None:
            return action
