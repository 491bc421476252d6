/// The collectors that record sources of the session which are not connected here, as far as they are known.
///
/// This collector knows which sources it has sent away. The site knows of sources that left by themselves, which a collector
/// that hung or was cut off cannot have noticed. A value.
struct SourceLocations: Sendable {
    /// Stands for a collector whose name is unknown.
    static let unnamed = "another collector"
    /// Reports of the other collector come every few seconds: until then the site knows nothing of the move.
    static let patienceNanoseconds: Int64 = 20_000_000_000
    /// Older answers are not used.
    static let answerNanoseconds: Int64 = 60_000_000_000

    /// Maximum number of sources; a collector keeps as many watermarks.
    private static let maximumOpened = 16_384

    /// The site's answer about absent sources.
    struct Answer: Hashable, Sendable {
        /// Time of the question to the site.
        var nanoseconds: Int64
        /// The sources in question.
        var asked: Set<String>
        /// The collectors that they are connected to, by source.
        var found: [String: String]
    }

    private struct Location {
        /// Nil: sent away.
        var collector: String?
        var sinceNanoseconds: Int64
    }

    private var places: [String: Location] = [:]
    /// Time of each source's last connection, while an answer may be older than it.
    private var openedNanoseconds: [String: Int64] = [:]

    /// The collector that has an absent source; nil: unknown.
    subscript(source: String) -> String? {
        places[source].map { $0.collector ?? Self.unnamed }
    }

    /// A source has connected here.
    mutating func opened(_ source: String, at now: Int64) {
        places[source] = nil
        if openedNanoseconds.count >= Self.maximumOpened {
            openedNanoseconds = openedNanoseconds.filter { now - $0.value < Self.answerNanoseconds }
        }
        openedNanoseconds[source] = now
    }

    /// The collector sent its agent to another one.
    mutating func sentAway(_ source: String, at now: Int64) {
        places[source] = Location(collector: nil, sinceNanoseconds: now)
    }

    /// Agents that were sent away have come back.
    mutating func turnedAway(_ sources: [String]) {
        for source in sources { places[source] = nil }
    }

    mutating func hear(_ answer: Answer, at now: Int64) {
        guard now - answer.nanoseconds < Self.answerNanoseconds else { return }
        openedNanoseconds = openedNanoseconds.filter { now - $0.value < Self.answerNanoseconds }
        for source in answer.asked {
            // The answer is older than the source's last connection.
            if let opened = openedNanoseconds[source], answer.nanoseconds <= opened { continue }
            if let collector = answer.found[source] {
                places[source] = Location(
                    collector: collector, sinceNanoseconds: answer.nanoseconds)
            } else if let place = places[source],
                place.collector != nil
                    || answer.nanoseconds - place.sinceNanoseconds >= Self.patienceNanoseconds
            {
                places[source] = nil
            }
        }
    }
}
