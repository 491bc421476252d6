/// The most similar word to `word`; nil if none is similar: a third of the letters may differ.
/// - Parameter limit: maximum number of different letters; nil: a third.
package func nearestWord(
    to word: String, among words: some Sequence<String>, within limit: Int? = nil
) -> String? {
    let ranked = words.map { (distance(word, $0), $0) }.min { $0 < $1 }
    guard let (edits, nearest) = ranked, edits <= limit ?? max(1, word.count / 3) else {
        return nil
    }
    return nearest
}

/// The suggestion for an unknown word: a similar one, or all of them.
package func suggestion(for word: String, among words: [String]) -> String {
    if let nearest = nearestWord(to: word, among: words) { return "did you mean '\(nearest)'?" }
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return "use \(words.dropLast().joined(separator: ", ")) or \(last)"
}

/// The optimal string alignment distance: insertions, deletions, substitutions and transpositions.
private func distance(_ one: String, _ other: String) -> Int {
    let (one, other) = (Array(one), Array(other))
    var before: [Int] = []
    var row = Array(0...other.count)
    for i in one.indices {
        var next = [i + 1]
        for j in other.indices {
            let exchanged = row[j] + (one[i] == other[j] ? 0 : 1)
            var least = min(exchanged, row[j + 1] + 1, next[j] + 1)
            if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
                least = min(least, before[j - 1] + 1)
            }
            next.append(least)
        }
        (before, row) = (row, next)
    }
    return row[other.count]
}
