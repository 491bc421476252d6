import FoundationEssentials

/// `session.json`: the description of a session.
package struct SessionManifest: Codable, Hashable, Sendable {
    /// The layout of this session's files; readers reject unknown values.
    package static let formatVersion = 1
    /// Maximum size of a manifest: a source needs one kilobyte, and a hundred if many of its files failed.
    package static let maximumBytes = 16 << 20
    /// Maximum number of sources; a collector admits as many.
    private static let maximumSources = 16_384
    /// Lines about tracks: a source has two.
    private static let maximumTracks = 16
    /// Maximum number of spools: more than a source has in a session, because it gets another one with a new disk.
    private static let maximumSpools = 4_096
    /// A hundred days: longer than any segment length, start window or clock error.
    private static let longestNanoseconds: Int64 = 8_640_000_000_000_000

    package enum State: String, Codable, Sendable {
        case recording
        case finished
    }

    /// Why a session ended.
    package enum EndReason: String, Codable, Sendable {
        /// Every source ended.
        case complete
        /// No source sent anything for the idle timeout.
        case idle
        /// An operator ended it.
        case stopped
        /// The collector was stopped.
        case collectorStopped = "collector-stopped"
        /// A crash interrupted it, and it was not resumed: there is a later session, or nothing that could be resumed.
        case interrupted
    }

    /// A session's end.
    package struct End: Codable, Hashable, Sendable {
        package var reason: EndReason
        /// When, UTC.
        package var at: String

        package init(reason: EndReason, at: UTCTime) {
            self.reason = reason
            self.at = at.description
        }
    }

    /// The collector's clock at the last update. A collector that resumes the session derives zero from it.
    package struct CollectorClock: Codable, Hashable, Sendable {
        /// The boot of its `CLOCK_MONOTONIC`; empty where the system does not report it.
        package var boot: String
        /// Zero on the wall clock, nanoseconds since 1970 (UTC). It is updated when the wall clock is set; the session's zero is
        /// not.
        package var zeroWallNanoseconds: Int64
        /// Maximum error of the wall clock as the system estimated it, nanoseconds.
        package var wallErrorNanoseconds: Int64
        /// Maximum shift of the session's zero on its timeline by restarts of the server, nanoseconds.
        package var zeroErrorNanoseconds: Int64
        /// Correction of session times relative to ``SessionManifest/zeroMonotonicNanoseconds``, which identifies the
        /// clock in fragments and so does not change when agents' clocks determine zero. Nil: none.
        package var correctionNanoseconds: Int64?

        package init(
            boot: String, zeroWallNanoseconds: Int64, wallErrorNanoseconds: Int64,
            zeroErrorNanoseconds: Int64 = 0, correctionNanoseconds: Int64? = nil
        ) {
            self.boot = boot
            self.zeroWallNanoseconds = zeroWallNanoseconds
            self.wallErrorNanoseconds = wallErrorNanoseconds
            self.zeroErrorNanoseconds = zeroErrorNanoseconds
            self.correctionNanoseconds = correctionNanoseconds
        }
    }

    /// The site's session to which a session is attached, because it was begun without the site.
    package struct Attachment: Codable, Hashable, Sendable {
        package var session: String
        /// Its zero by its first collector's wall clock, nanoseconds since 1970 (UTC).
        package var zeroUTCNanoseconds: Int64
        package var segmentNanoseconds: Int64
        /// This session's zero on the timeline of the site's session.
        package var offsetNanoseconds: Int64
        /// Maximum error of ``offsetNanoseconds``.
        package var boundNanoseconds: UInt64

        package init(
            session: String, zeroUTCNanoseconds: Int64, segmentNanoseconds: Int64,
            offsetNanoseconds: Int64, boundNanoseconds: UInt64
        ) {
            self.session = session
            self.zeroUTCNanoseconds = zeroUTCNanoseconds
            self.segmentNanoseconds = segmentNanoseconds
            self.offsetNanoseconds = offsetNanoseconds
            self.boundNanoseconds = boundNanoseconds
        }
    }

    /// The recorded part of a spool at the end of the session.
    package struct SpoolEnd: Codable, Hashable, Sendable {
        /// The spool's identity, hexadecimal.
        package var spool: String
        /// The first record of the spool that the session has: earlier ones belong to other sessions. Nil in early versions.
        package var first: UInt64?
        /// Every record up to this one is recorded or explained.
        package var through: UInt64
        /// First and last of each later range that is recorded or explained; nil: none.
        package var beyond: [[UInt64]]?
        /// The highest term under which its agent has sent it; nil: none.
        package var term: UInt64?

        /// - Parameter sequences: all records of the spool that are recorded or explained.
        package init(
            spool: String, first: UInt64? = nil, sequences: SequenceSet, term: UInt64? = nil
        ) {
            self.spool = spool
            self.first = first
            self.term = term
            through = sequences.watermark
            // Readers ignore further ranges.
            let ranges = sequences.ranges.filter { $0.lowerBound > sequences.watermark }
                .prefix(RecordLimits.ranges)
            beyond = ranges.isEmpty ? nil : ranges.map { [$0.lowerBound, $0.upperBound] }
        }

        /// Reads at most ``RecordLimits/ranges`` ranges.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            spool = try container.decode(String.self, forKey: .spool)
            first = try container.decodeIfPresent(UInt64.self, forKey: .first)
            through = try container.decode(UInt64.self, forKey: .through)
            beyond = try container.decodeFirstIfPresent(RecordLimits.ranges, forKey: .beyond)
            term = try container.decodeIfPresent(UInt64.self, forKey: .term)
        }

        /// The same, with additional records.
        package func joined(with other: SequenceSet) -> SpoolEnd {
            var all = sequences
            all.formUnion(other)
            return SpoolEnd(spool: spool, first: first, sequences: all, term: term)
        }

        /// All records of the spool that are recorded or explained.
        package var sequences: SequenceSet {
            var all = SequenceSet(upTo: min(through, RecordLimits.sequence))
            for range in (beyond ?? []).prefix(RecordLimits.ranges)
            where range.count == 2 && 0 < range[0] && range[0] <= range[1]
                && range[0] <= RecordLimits.sequence
            {
                all.insert(range[0]...min(range[1], RecordLimits.sequence))
            }
            return all
        }
    }

    package enum StartPolicy: String, Codable, Sendable {
        /// Zero is the earliest sample of any source within the start window.
        case firstSample = "first-sample"
        /// Zero is the earliest picture.
        case firstVideo = "first-video"
    }

    /// A source of the session.
    package struct Source: Codable, Hashable, Sendable {
        package var name: String
        /// The name of the box that sent it.
        package var agent: String
        /// Its address when it first connected.
        package var address: String
        /// One line per track: "video 1280×720 H.264", "audio 48000 Hz stereo AAC".
        package var tracks: [String]
        /// Whether it has ended: it will not reconnect in this session.
        package var isComplete: Bool
        /// Set when the session has ended: agents that missed the end are notified of the records that need not be sent
        /// again.
        package var spools: [SpoolEnd]?

        package init(
            name: String, agent: String, address: String, tracks: [String], isComplete: Bool
        ) {
            self.name = name
            self.agent = agent
            self.address = address
            self.tracks = tracks
            self.isComplete = isComplete
        }

        /// Reads at most as many tracks and spools as a source can have.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            agent = try container.decode(String.self, forKey: .agent)
            address = try container.decode(String.self, forKey: .address)
            tracks = try container.decodeFirst(SessionManifest.maximumTracks, forKey: .tracks)
            isComplete = try container.decode(Bool.self, forKey: .isComplete)
            spools = try container.decodeFirstIfPresent(
                SessionManifest.maximumSpools, forKey: .spools)
        }
    }

    package var format: Int
    package var session: String
    package var state: State
    /// The timeline's zero, human-readable.
    package var zero: String
    /// The timeline's zero, nanoseconds since 1970 (UTC).
    package var zeroUTCNanoseconds: Int64
    /// The timeline's zero on the collector's `CLOCK_MONOTONIC`, nanoseconds.
    package var zeroMonotonicNanoseconds: Int64
    package var startAt: StartPolicy
    package var startWindowNanoseconds: Int64
    /// Segments begin at whole multiples of this after zero.
    package var segmentNanoseconds: Int64
    package var sources: [Source]
    /// The collector's version.
    package var software: String
    /// The collector's name; nil in recordings of collectors without one.
    package var collector: String?
    /// Nil in recordings of early versions.
    package var clock: CollectorClock?
    /// Nil while it is being recorded.
    package var end: End?
    /// The site's sessions to which it is attached, oldest first. Entries are never removed. Nil if it is not attached.
    package var attached: [Attachment]?
    /// Maximum number of attachments. A second one is necessary only if the site's database has lost commits.
    package static let maximumAttachments = 8

    package init(
        session: String, zero: UTCTime, zeroMonotonicNanoseconds: Int64, startAt: StartPolicy,
        startWindowNanoseconds: Int64, segmentNanoseconds: Int64, software: String
    ) {
        self.format = Self.formatVersion
        self.session = session
        self.state = .recording
        self.zero = zero.description
        self.zeroUTCNanoseconds = zero.nanoseconds
        self.zeroMonotonicNanoseconds = zeroMonotonicNanoseconds
        self.startAt = startAt
        self.startWindowNanoseconds = startWindowNanoseconds
        self.segmentNanoseconds = segmentNanoseconds
        self.sources = []
        self.software = software
    }

    /// Reads no more sources than a session has, and one.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        format = try container.decode(Int.self, forKey: .format)
        session = try container.decode(String.self, forKey: .session)
        state = try container.decode(State.self, forKey: .state)
        zero = try container.decode(String.self, forKey: .zero)
        zeroUTCNanoseconds = try container.decode(Int64.self, forKey: .zeroUTCNanoseconds)
        zeroMonotonicNanoseconds = try container.decode(
            Int64.self, forKey: .zeroMonotonicNanoseconds)
        startAt = try container.decode(StartPolicy.self, forKey: .startAt)
        startWindowNanoseconds = try container.decode(Int64.self, forKey: .startWindowNanoseconds)
        segmentNanoseconds = try container.decode(Int64.self, forKey: .segmentNanoseconds)
        sources = try container.decodeFirst(Self.maximumSources + 1, forKey: .sources)
        software = try container.decode(String.self, forKey: .software)
        collector = try container.decodeIfPresent(String.self, forKey: .collector)
        clock = try container.decodeIfPresent(CollectorClock.self, forKey: .clock)
        end = try container.decodeIfPresent(End.self, forKey: .end)
        attached = try container.decodeFirstIfPresent(Self.maximumAttachments, forKey: .attached)
    }

    /// The site's session that it is, or is a part of.
    package var siteSession: String { attached?.last?.session ?? session }

    /// Where zero is on the collector's clock, nanoseconds.
    package var presentZeroNanoseconds: Int64 {
        zeroMonotonicNanoseconds - (clock?.correctionNanoseconds ?? 0)
    }

    package var zeroTime: UTCTime { UTCTime(nanoseconds: zeroUTCNanoseconds) }

    /// The error for bytes that are not a manifest.
    static let unreadable = "not a session description"

    /// Reads a manifest.
    package static func read(_ path: String) throws(ArchiveError) -> SessionManifest {
        try parse(FileSystem.read(path, limit: maximumBytes), path: path)
    }

    /// Reads the bytes of a manifest.
    /// - Parameter path: the file in errors.
    package static func parse(
        _ bytes: [UInt8], path: String
    ) throws(ArchiveError) -> SessionManifest {
        let manifest: SessionManifest
        do {
            manifest = try JSONDecoder().decode(SessionManifest.self, from: Data(bytes))
        } catch {
            throw .malformed(path: path, reason: unreadable)
        }
        guard manifest.format == formatVersion else {
            throw .malformed(
                path: path,
                reason: "format \(manifest.format) is not supported, only \(formatVersion)")
        }
        guard manifest.sources.count <= maximumSources else {
            throw .malformed(path: path, reason: "more than \(maximumSources) sources")
        }
        guard manifest.hasPossibleTimes, manifest.hasPossibleNames else {
            throw .malformed(path: path, reason: unreadable)
        }
        return manifest
    }

    /// Whether its names are valid directory names, so that none leads out of the archive.
    private var hasPossibleNames: Bool {
        ArchiveLayout.isValidName(session)
            && (attached ?? []).allSatisfy { ArchiveLayout.isValidName($0.session) }
            && sources.allSatisfy { ArchiveLayout.isValidName($0.name) }
            && Set(sources.map(\.name)).count == sources.count
    }

    /// Whether its times are within limits: no sum and no difference of two exceeds 64 bits.
    private var hasPossibleTimes: Bool {
        let instants =
            [
                zeroUTCNanoseconds, zeroMonotonicNanoseconds, clock?.zeroWallNanoseconds ?? 0,
                clock?.correctionNanoseconds ?? 0,
            ] + (attached ?? []).flatMap { [$0.zeroUTCNanoseconds, $0.offsetNanoseconds] }
        let lengths =
            [
                segmentNanoseconds, startWindowNanoseconds, clock?.wallErrorNanoseconds ?? 0,
                clock?.zeroErrorNanoseconds ?? 0,
            ] + (attached ?? []).map(\.segmentNanoseconds)
        guard instants.allSatisfy({ $0.magnitude <= UTCTime.farthestNanoseconds }) else {
            return false
        }
        switch state {
        case .recording:
            // An open session may be resumed, with its segment grid.
            return segmentNanoseconds > 0
                && lengths.allSatisfy((0...Self.longestNanoseconds).contains)
        case .finished: return lengths.allSatisfy { $0 >= 0 }
        }
    }

    /// The manifest as the bytes of `session.json`.
    package func encoded() -> [UInt8] { JSONDocument.bytes(of: self) }
}
