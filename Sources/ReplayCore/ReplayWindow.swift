import Archive
import Library
import Media
import Recordings

/// The part of a source that is played again.
struct ReplayWindow {
    /// Start of decoding, at or before the wanted start. Session time, nanoseconds.
    let from: Int64?
    private let to: Int64?
    /// The picture with which decoding begins.
    private let keyframe: (dts: Int64, isNeeded: Bool)

    init(_ source: RecordedSource, from: Int64?, to: Int64?) throws(ArchiveError) {
        self.to = to
        guard let from else {
            self.from = nil
            keyframe = (.min, false)
            return
        }
        var pictures = SampleReader(source, from: from, to: to, tracks: [.video])
        guard let first = try pictures.next() else {
            self.from = from
            keyframe = (.min, false)
            return
        }
        self.from = min(from, first.ptsNanoseconds)
        keyframe = (first.dtsNanoseconds, true)
    }

    func includes(_ sample: RecordedSample) -> Bool {
        if let to {
            // By decoding order: a picture that is presented before the end may reference one that is presented after it.
            let time = sample.track == .video ? sample.dtsNanoseconds : sample.ptsNanoseconds
            if time >= to { return false }
        }
        guard let from else { return true }
        switch sample.track {
        case .video: return !keyframe.isNeeded || sample.dtsNanoseconds >= keyframe.dts
        case .audio: return sample.endNanoseconds > from
        }
    }

    func includes(_ gap: RecordedGap) -> Bool {
        // A gap at an unknown time belongs to the beginning.
        guard let start = gap.startNanoseconds else { return from == nil }
        return includes(from: start, to: start &+ gap.durationNanoseconds)
    }

    /// Whether an interval of session time, nanoseconds, overlaps it.
    func includes(from start: Int64, to end: Int64) -> Bool {
        if let to, start >= to { return false }
        return from.map { end > $0 } ?? true
    }
}
