import Archive
import Library
import Media
import Recordings
import Testing
import TestRecordings
import ViewerCore

/// Seconds as nanoseconds, to the nearest.
func nanoseconds(_ seconds: Double) -> Int64 { Int64((seconds * 1e9).rounded()) }

/// Fragments of a file that is written down instead of recorded.
struct WrittenFragments {
    static let second: Int64 = 1_000_000_000

    private(set) var fragments: [FragmentOutline] = []
    private var offset: Int64 = 1_187

    /// Appends a fragment.
    /// - Parameters:
    ///   - seconds: from when to when its pictures are.
    ///   - isKey: it begins with a keyframe.
    ///   - soundEnd: when its sound ends; nil: with its pictures.
    mutating func add(
        _ seconds: ClosedRange<Double>, isKey: Bool, soundEnd: Double? = nil, bytes: Int64 = 1_000
    ) {
        let end = nanoseconds(seconds.upperBound)
        fragments.append(
            FragmentOutline(
                range: offset..<offset + bytes, mainEndNanoseconds: end,
                lastEndNanoseconds: max(end, soundEnd.map(nanoseconds) ?? end),
                decodableFromNanoseconds: isKey ? nanoseconds(seconds.lowerBound) : nil))
        offset += bytes
    }

    /// Appends a fragment without shown pictures.
    mutating func addHidden(keyAt key: Double? = nil, soundEnd: Double? = nil) {
        fragments.append(
            FragmentOutline(
                range: offset..<offset + 1_000, mainEndNanoseconds: nil,
                lastEndNanoseconds: soundEnd.map(nanoseconds),
                decodableFromNanoseconds: key.map(nanoseconds)))
        offset += 1_000
    }

    /// Appends a fragment with nothing but sound.
    mutating func addSound(_ seconds: ClosedRange<Double>) {
        fragments.append(
            FragmentOutline(
                range: offset..<offset + 1_000, mainEndNanoseconds: nil,
                lastEndNanoseconds: nanoseconds(seconds.upperBound), decodableFromNanoseconds: nil,
                soundAloneFromNanoseconds: nanoseconds(seconds.lowerBound)))
        offset += 1_000
    }

    /// Fragments of a second each; one of `keyEvery` begins with a keyframe.
    init(seconds: Range<Int> = 0..<0, keyEvery: Int = 1) {
        for second in seconds {
            add(
                Double(second)...Double(second + 1),
                isKey: (second - seconds.lowerBound) % keyEvery == 0)
        }
    }
}

extension MediaSegmentation {
    /// Begins a file, appends fragments to it, and finishes it if wanted.
    @discardableResult
    mutating func add(
        _ fragments: WrittenFragments, name: String, origin: Double = 0, revision: UInt32 = 0,
        isFinished: Bool = true
    ) -> Int? {
        let file = SegmentFile(
            name: name, originNanoseconds: nanoseconds(origin), revision: revision, formats: [])
        guard let index = beginFile(file) else { return nil }
        for fragment in fragments.fragments { append(fragment, toFile: index) }
        if isFinished { finishFile(index) }
        return index
    }

    var seconds: [Double] { segments.map { Double($0.durationNanoseconds) / 1e9 } }
    var starts: [Double] { segments.map { Double($0.startNanoseconds) / 1e9 } }
}

/// A recorded session's camera, for tests.
struct RecordedCamera {
    let zero: UTCTime
    let source: RecordedSource
    /// Its files exist as long as it does.
    private let session: WrittenSession

    init(_ session: WrittenSession) throws {
        self.session = session
        let recording = try RecordedSession(WrittenSession.name, in: session.layout)
        zero = recording.zero
        source = try #require(recording.source("camera"))
    }

    /// Writes the ledger that it is read with.
    static func writeLedger(_ entries: [LedgerEntry], of session: WrittenSession) throws {
        try FileSystem.replace(
            session.layout.ledger(WrittenSession.name, "camera"),
            with: entries.flatMap { Ledger.line($0) })
    }

    /// All of its segments.
    func segmentation(isGrowing: Bool = false) throws -> MediaSegmentation {
        MediaSegmentation(try source.playback(Int64.min / 2..<Int64.max / 2), isGrowing: isGrowing)
    }

    func playlist(
        _ kind: MediaPlaylist.Kind, _ segmentation: MediaSegmentation
    ) throws -> String? {
        var playlist = MediaPlaylist(kind, zero: zero)
        playlist.update(segmentation, gaps: try source.gaps())
        return playlist.text
    }
}

extension LedgerEntry {
    /// A gap.
    static func gap(
        _ cause: String, at seconds: Double?, seconds duration: Double, samples: UInt64 = 1,
        text: String? = nil
    ) -> LedgerEntry {
        var entry = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        entry.cause = cause
        entry.startNanoseconds = seconds.map(nanoseconds)
        entry.durationNanoseconds = UInt64(nanoseconds(duration))
        entry.samples = samples
        entry.text = text
        return entry
    }
}

/// The playlist taken apart, after it has been found to break no rule.
@discardableResult
func expectRules(
    _ text: String?, sourceLocation: SourceLocation = #_sourceLocation
) throws -> PlaylistRules {
    let rules = PlaylistRules(try #require(text, sourceLocation: sourceLocation))
    #expect(rules.findings.isEmpty, "\(rules.findings)", sourceLocation: sourceLocation)
    return rules
}
