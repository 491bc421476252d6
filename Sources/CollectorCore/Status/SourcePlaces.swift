/// Where sources of the session are that are not connected here: at another collector, as far as is known.
///
/// This collector knows it of those that it has sent away, and the site of those that left by themselves: what a
/// collector that hung or was cut off cannot have seen. A value.
struct SourcePlaces: Sendable {
    /// The name of a collector that is not known by name.
    static let unnamed = "another collector"
    /// Reports of the other collector come every few seconds: until then the site knows nothing of the move.
    static let patienceNanoseconds: Int64 = 20_000_000_000
    /// Older answers are not used.
    static let answerNanoseconds: Int64 = 60_000_000_000

    /// As many sources as a collector keeps watermarks of.
    private static let maximumOpened = 16_384

    /// The site's answer about absent sources.
    struct Answer: Hashable, Sendable {
        /// When the site was asked.
        var nanoseconds: Int64
        /// The sources in question.
        var asked: Set<String>
        /// The collectors that they are connected to, by source.
        var found: [String: String]
    }

    private struct Place {
        /// Nil: sent away.
        var collector: String?
        var sinceNanoseconds: Int64
    }

    private var places: [String: Place] = [:]
    /// When a source connected last, as long as an answer may be of before.
    private var openedNanoseconds: [String: Int64] = [:]

    /// The collector that has an absent source; nil: it is not known to be anywhere.
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
        places[source] = Place(collector: nil, sinceNanoseconds: now)
    }

    /// Agents that were sent away have come back.
    mutating func turnedAway(_ sources: [String]) {
        for source in sources { places[source] = nil }
    }

    mutating func hear(_ answer: Answer, at now: Int64) {
        guard now - answer.nanoseconds < Self.answerNanoseconds else { return }
        openedNanoseconds = openedNanoseconds.filter { now - $0.value < Self.answerNanoseconds }
        for source in answer.asked {
            // The answer is of before it connected and left again.
            if let opened = openedNanoseconds[source], answer.nanoseconds <= opened { continue }
            if let collector = answer.found[source] {
                places[source] = Place(collector: collector, sinceNanoseconds: answer.nanoseconds)
            } else if let place = places[source],
                place.collector != nil
                    || answer.nanoseconds - place.sinceNanoseconds >= Self.patienceNanoseconds
            {
                places[source] = nil
            }
        }
    }
}
