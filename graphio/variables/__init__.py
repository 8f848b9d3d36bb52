"""Making variables: scopes that share them by name, initializers, partitions, collections.

May import ops, framework and below; the class and its reads are in framework (variable,
variable_reads), for branches, loops and gathers know variables. Variables are state by name:
`Variable`, `ReadVariable` and `Assign` name their variable in an attribute; there is no reference
type and no handle edge.

ARCHITECTURE.md has the rule of reads. In files, a plain use has a read of the type `PlainRead`;
assignments of optimizers are distinguished from explicit ones by TensorFlow's type, `Apply...`;
identities of the type `Snapshot` stay at the start of a run (values of metrics, `num_updates` of
moving averages).

    variable_scope         tf.get_variable; templates: tf.make_template
    partitioned_variables  variables in parts; partitioners: into how many
"""

from typing import TYPE_CHECKING

from graphio.support.old_paths import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(__name__, "graphio.variables.variables")
