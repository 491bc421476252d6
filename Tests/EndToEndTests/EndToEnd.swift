import Testing

/// The real programs against each other, against hostile peers and against foreign readers.
///
/// One test after another: they share two cores with the programs that they run.
@Suite(.serialized)
enum EndToEnd {}
