"""How a file of cases/ registers its faults."""

from collections import namedtuple

# name: template, in which `words` stand; do(trial); tells: the log must have an error, or, a pattern, such
# a one; alone: do(bench) makes its own cluster and returns its row.
Fault = namedtuple("Fault", "group name do tells alone template words")


def register(faults, group):
    """A decorator: @fault("what is done", tells=True). With `each`, one fault per value, in {} of the name."""

    def fault(name, tells=False, each=(None,), alone=False):
        def take(function):
            for value in each:
                if value is None:
                    faults.append(Fault(group, name, function, tells, alone, name, ()))
                else:
                    words = value if isinstance(value, tuple) else (value,)
                    faults.append(Fault(group, name.format(*words), lambda t, w=words: function(t, *w), tells, alone,
                                        name, words))
            return function

        return take

    return fault
