package import Archive
import Media
import Recordings
import Terminal

/// A range of a session without recorded samples of a source: the reason, and the nearest recorded times.
package struct MissingRange: Hashable, Sendable {
    package var source: String
    /// Nanoseconds of session time; nil: nothing is recorded before it.
    package var previousEndNanoseconds: Int64?
    /// Nil: nothing is recorded after it.
    package var nextStartNanoseconds: Int64?
    /// The ledger's gap; nil: none.
    package var gap: SourceCoverage.Gap?
    /// The collector whose archive has it; nil: it is missing.
    package var held: SourceCoverage.Held?

    /// Whether it was recorded, and removed later.
    package var isRemoved: Bool { gap?.cause == RecordedGap.removed }

    /// Whether it is before everything that is recorded, without a known reason.
    package var isBeforeBeginning: Bool {
        previousEndNanoseconds == nil && nextStartNanoseconds != nil && gap == nil && held == nil
    }

    /// A recorded instant: the last one before, otherwise the first one after.
    package func nearest(to nanoseconds: Int64) -> Int64? {
        previousEndNanoseconds.map { min($0.clampedSubtracting(1), nanoseconds) }
            ?? nextStartNanoseconds
    }

    /// One line for the user.
    /// - Parameter what: the requested object: `picture`, `clip`.
    package func text(asking what: String) -> String {
        var text = "no \(what) of \(source) there: "
        if let gap {
            text +=
                "\(isRemoved ? "removed" : "missing") from "
                + "\(TimelinePoint.text(gap.startNanoseconds)) to "
                + TimelinePoint.text(gap.endNanoseconds)
                + (isRemoved ? "" : ", cause: \(gap.cause)")
        } else if let held {
            text += "held by \(held.collector), whose archive is not read"
        } else {
            text += "nothing is recorded"
        }
        var near: [String] = []
        if let previousEndNanoseconds {
            near.append("up to \(TimelinePoint.text(previousEndNanoseconds))")
        }
        if let nextStartNanoseconds {
            near.append("from \(TimelinePoint.text(nextStartNanoseconds))")
        }
        return text + (near.isEmpty ? "" : "; recorded \(near.joined(separator: ", and "))")
    }
}

extension RecordingLibrary {
    /// Exact recorded times and gaps of one source; nil: there is no such source.
    package func lane(
        of source: String, in session: String, remembering memory: CoverageMemory
    ) throws(ArchiveError) -> SourceCoverage? {
        let lanes = try lanes(of: session, in: .min..<Int64.max, remembering: memory) {
            $0 == source
        }
        return lanes.sources.first?.coverage(
            in: .min..<Int64.max, resolutionNanoseconds: 0, isRecording: lanes.isRecording,
            isForDrawing: false)
    }

    /// The reason for which nothing of a source is recorded in a range; nil: something is, or there is no such source.
    /// - Parameter range: nanoseconds of session time.
    package func missing(
        _ range: ClosedRange<Int64>, of source: String, in session: String,
        remembering memory: CoverageMemory
    ) throws(ArchiveError) -> MissingRange? {
        guard let lane = try lane(of: source, in: session, remembering: memory),
            !lane.recorded.contains(where: {
                $0.startNanoseconds <= range.upperBound && $0.endNanoseconds > range.lowerBound
            })
        else { return nil }
        let gaps = lane.missing.filter {
            $0.track != TrackKind.audio.description
                && $0.startNanoseconds <= range.upperBound
                && $0.endNanoseconds > range.lowerBound
        }
        return MissingRange(
            source: source,
            previousEndNanoseconds: lane.recorded.last {
                $0.endNanoseconds <= range.lowerBound
            }?.endNanoseconds,
            nextStartNanoseconds: lane.recorded.first {
                $0.startNanoseconds > range.upperBound
            }?.startNanoseconds,
            // A removed file may have had gaps of its own.
            gap: gaps.first { $0.cause == RecordedGap.removed } ?? gaps.first,
            held: lane.held.first {
                $0.startNanoseconds ?? .min <= range.upperBound
                    && $0.endNanoseconds ?? .max > range.lowerBound
            })
    }
}
