/// The changes that retiming a session makes, or has made.
package struct RetimingReport: Codable, Hashable, Sendable {
    package struct Bounds: Codable, Hashable, Sendable {
        package var leastNanoseconds: UInt64
        package var medianNanoseconds: UInt64
        package var greatestNanoseconds: UInt64

        init(_ bounds: RetimingRecord.Bounds) {
            leastNanoseconds = bounds.least
            medianNanoseconds = bounds.median
            greatestNanoseconds = bounds.greatest
        }
    }

    package struct File: Codable, Hashable, Sendable {
        package enum Outcome: String, Codable, Sendable {
            /// Its index is replaced, or would be.
            case retimed
            /// Its index already has the computed times.
            case unchanged
            /// Its original index is restored, or would be.
            case restored
            /// It contains no exchanges.
            case withoutExchanges
        }

        package var path: String
        package var outcome: Outcome
        /// The shift of times, relative to the recorded ones.
        package var medianShiftNanoseconds: UInt64?
        package var greatestShiftNanoseconds: UInt64?
        package var boundBefore: Bounds?
        package var boundAfter: Bounds?
        /// Nil: no times follow a camera's timestamps.
        package var camera: Camera?
    }

    /// The samples of a file whose times follow a network camera's timestamps, all tracks together.
    package struct Camera: Codable, Hashable, Sendable {
        package var samples: Int
        /// Distances from the times that the agent gave them as they arrived; of the tracks' medians, the greatest.
        package var medianShiftNanoseconds: UInt64
        package var greatestShiftNanoseconds: UInt64

        init?(_ record: RetimingRecord) {
            let uses = record.tracks.compactMap(\.camera)
            guard let median = uses.map(\.medianNanoseconds).max(),
                let greatest = uses.map(\.greatestNanoseconds).max()
            else { return nil }
            samples = uses.reduce(0) { $0 + Int($1.samples) }
            medianShiftNanoseconds = median
            greatestShiftNanoseconds = greatest
        }
    }

    package struct Source: Codable, Hashable, Sendable {
        package var name: String
        /// Clock exchanges in its recording, and the number of accepted ones.
        package var exchanges: Int
        package var believedExchanges: Int
        package var files: [File]
    }

    /// Another collector of the site, whose exchanges were used.
    package struct Peer: Codable, Hashable, Sendable {
        package var name: String
        /// Clocks of this collector (boots of its server) that the peer's clock relates to others.
        package var tiedClocks: Int
        /// Sources whose times are also bounded by its exchanges with them.
        package var sources: [String]
    }

    package var session: String
    package var isDryRun: Bool
    package var sources: [Source]
    /// Nil: the session's collector was compared with no other one.
    package var peers: [Peer]?
    /// One line for everything that could not be used; nil: nothing.
    package var problems: [String]?
}
