/// What computing a session's timeline again changes, or has changed.
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
            /// Its index says already what it would say.
            case unchanged
            /// Its own index is in force again, or would be.
            case restored
            /// It holds no exchanges to compute with.
            case withoutExchanges
        }

        package var path: String
        package var outcome: Outcome
        /// What times move by, against those that were recorded.
        package var medianShiftNanoseconds: UInt64?
        package var greatestShiftNanoseconds: UInt64?
        package var boundBefore: Bounds?
        package var boundAfter: Bounds?
    }

    package struct Source: Codable, Hashable, Sendable {
        package var name: String
        /// Clock exchanges in its recording, and those of them that can be believed.
        package var exchanges: Int
        package var believedExchanges: Int
        package var files: [File]
    }

    package var session: String
    package var isDryRun: Bool
    package var sources: [Source]
}
