import Archive
package import Media
package import Messaging
package import Wire

/// An item of a source's replay (samples, gap or format), with its due time.
package struct ReplayItem: Sendable {
    package enum Content: Sendable {
        case samples(ReplayedSamples)
        /// A recorded gap, or records that are missing in the recording.
        case loss(Loss)
        /// From the next samples on, a track has this format.
        case format(TrackFormat)
    }

    /// When it was complete in the recording: the decoding time of its newest sample, nanoseconds of the recording's timeline.
    package var timeNanoseconds: Int64
    package var content: Content
    /// Samples of a loss that the recording's ledger does not explain.
    package var unexplainedSamples: UInt64 = 0
}

/// Samples that travel in one message. Times are nanoseconds of the recording's timeline.
package struct ReplayedSamples: Sendable {
    /// At most one of each kind.
    package var runs: [SampleRun]
    /// The samples' bytes, run after run, as they were recorded.
    package var payload: SharedBytes
    /// SHA-256 of the payload: the recorded one for a complete message.
    package var digest: [UInt8]

    /// The first instant at which something of it is presented; nil where it is only priming.
    package var firstPresentedNanoseconds: Int64? {
        runs.flatMap { run in
            (0..<run.count).filter { !run.flags(at: $0).contains(.priming) }
                .map(run.ptsNanoseconds)
        }.min()
    }

    /// The same samples, with all times increased by `shift`.
    package func moved(byNanoseconds shift: Int64) -> ReplayedSamples {
        guard shift != 0 else { return self }
        var moved = self
        for run in moved.runs.indices {
            for index in moved.runs[run].dtsNanoseconds.indices {
                moved.runs[run].dtsNanoseconds[index] &+= shift
            }
            moved.runs[run].camera?.move(byNanoseconds: shift)
        }
        return moved
    }
}

/// One source that is played again. A value of one thread; it may read from a disk.
package protocol SourcePlayer {
    var name: String { get }
    /// In force at the beginning.
    var formats: [TrackFormat] { get }
    /// - Returns: the next item in the order of time; nil at the end.
    mutating func next() throws(ReplayError) -> ReplayItem?
}

/// The reason why a recording cannot be replayed: one line.
package struct ReplayError: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// The collector does not admit this program's key.
    package let isRefused: Bool

    package init(_ description: String, isRefused: Bool = false) {
        self.description = description
        self.isRefused = isRefused
    }

    /// A recording that cannot be read.
    init(reading error: ArchiveError) {
        if case .malformed = error {
            self.init(
                "\(error); replay the other sources with --source, or continue behind it with --from"
            )
        } else {
            self.init("\(error)")
        }
    }

    /// No source has samples in the requested time.
    static let nothing = ReplayError(
        "nothing to play: no source has samples in this range")
}
