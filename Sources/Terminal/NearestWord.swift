/// The word that somebody who wrote `word` may have meant; nil where none is near: one letter in three may be another.
/// - Parameter limit: of letters that may be others; nil: that.
package func nearestWord(
    to word: String, among words: some Sequence<String>, within limit: Int? = nil
) -> String? {
    let ranked = words.map { (distance(word, $0), $0) }.min { $0 < $1 }
    guard let (edits, nearest) = ranked, edits <= limit ?? max(1, word.count / 3) else {
        return nil
    }
    return nearest
}

/// What to answer to a word that is none of those there are: the one that may have been meant, or all of them.
package func suggestion(for word: String, among words: [String]) -> String {
    if let nearest = nearestWord(to: word, among: words) { return "did you mean '\(nearest)'?" }
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return "use \(words.dropLast().joined(separator: ", ")) or \(last)"
}

/// How many letters have to be inserted, removed or exchanged, or neighbours swapped, to make one word of the other (optimal string
/// alignment).
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
