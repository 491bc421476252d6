import FoundationEssentials

/// `session.json`: what a session is, beside its recordings.
package struct SessionManifest: Codable, Hashable, Sendable {
    /// How this session's files are laid out; readers refuse what they do not know.
    package static let formatVersion = 1
    /// A manifest larger than this was not written by us.
    private static let maximumBytes = 64 << 20
    /// A hundred days: longer than a collector's segments, its start window and its clock's error are.
    private static let longestNanoseconds: Int64 = 8_640_000_000_000_000

    package enum State: String, Codable, Sendable {
        case recording
        case finished
    }

    /// Why a session ended.
    package enum EndReason: String, Codable, Sendable {
        /// Every source said goodbye.
        case complete
        /// No source had sent anything for as long as the collector waits.
        case idle
        /// An operator ended it.
        case stopped
        /// The collector was asked to end.
        case collectorStopped = "collector-stopped"
        /// A crash left it, and a later session, or nothing that could be gone on with.
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

    /// How ``zeroMonotonicNanoseconds`` was last known: a collector that goes on with the session finds zero again.
    package struct CollectorClock: Codable, Hashable, Sendable {
        /// Which boot's `CLOCK_MONOTONIC` it is; empty where the system does not say.
        package var boot: String
        /// Zero as the wall clock says it: when that is set, this follows, and the session's zero does not. Nanoseconds since
        /// 1970 (UTC).
        package var zeroWallNanoseconds: Int64
        /// How far off the system believed its wall clock at most, nanoseconds.
        package var wallErrorNanoseconds: Int64
        /// How far the session's zero may have moved on its timeline by restarts of the server, nanoseconds.
        package var zeroErrorNanoseconds: Int64

        package init(
            boot: String, zeroWallNanoseconds: Int64, wallErrorNanoseconds: Int64,
            zeroErrorNanoseconds: Int64 = 0
        ) {
            self.boot = boot
            self.zeroWallNanoseconds = zeroWallNanoseconds
            self.wallErrorNanoseconds = wallErrorNanoseconds
            self.zeroErrorNanoseconds = zeroErrorNanoseconds
        }
    }

    /// How far a spool's records had come when the session ended.
    package struct SpoolEnd: Codable, Hashable, Sendable {
        /// The spool's identity, hexadecimal.
        package var spool: String
        /// Every record up to this one is recorded or explained.
        package var through: UInt64
        /// First and last of each range beyond that that is recorded or explained, too; none where there is nothing.
        package var beyond: [[UInt64]]?

        /// - Parameter sequences: all of the spool that is recorded or explained.
        package init(spool: String, sequences: SequenceSet) {
            self.spool = spool
            through = sequences.watermark
            let ranges = sequences.ranges.filter { $0.lowerBound > sequences.watermark }
            beyond = ranges.isEmpty ? nil : ranges.map { [$0.lowerBound, $0.upperBound] }
        }

        /// The same with what else is known to be there.
        package func joined(with other: SequenceSet) -> SpoolEnd {
            var all = sequences
            all.formUnion(other)
            return SpoolEnd(spool: spool, sequences: all)
        }

        /// All of the spool that is recorded or explained.
        var sequences: SequenceSet {
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

    /// A source that has been part of the session.
    package struct Source: Codable, Hashable, Sendable {
        package var name: String
        /// The box that sent it, as it named itself.
        package var agent: String
        /// Its address when it first came.
        package var address: String
        /// One line per track: "video 1280×720 H.264", "audio 48000 Hz stereo AAC".
        package var tracks: [String]
        /// Whether it said goodbye: it will not come back in this session.
        package var isComplete: Bool
        /// Set when the session has ended: agents that did not hear of it are told what need not be sent again.
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
    }

    package var format: Int
    package var session: String
    package var state: State
    /// The timeline's zero, for people.
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
    /// None in recordings of early versions.
    package var clock: CollectorClock?
    /// None while it is recorded.
    package var end: End?

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

    package var zeroTime: UTCTime { UTCTime(nanoseconds: zeroUTCNanoseconds) }

    /// What is said of bytes that are no manifest.
    static let unreadable = "not a session's description"

    /// Reads a manifest.
    package static func read(_ path: String) throws(ArchiveError) -> SessionManifest {
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        let manifest: SessionManifest
        do {
            manifest = try JSONDecoder().decode(SessionManifest.self, from: Data(bytes))
        } catch {
            throw .malformed(path: path, reason: unreadable)
        }
        guard manifest.format == formatVersion else {
            throw .malformed(
                path: path,
                reason: "written in format \(manifest.format), this program knows \(formatVersion)")
        }
        guard manifest.hasPossibleTimes, manifest.hasPossibleNames else {
            throw .malformed(path: path, reason: unreadable)
        }
        return manifest
    }

    /// Whether its names can be those of directories, as they will be: none leads out of the archive.
    private var hasPossibleNames: Bool {
        ArchiveLayout.isValidName(session)
            && sources.allSatisfy { ArchiveLayout.isValidName($0.name) }
            && Set(sources.map(\.name)).count == sources.count
    }

    /// Whether one can reckon with its times: no sum and no difference of two leaves 64 bits.
    private var hasPossibleTimes: Bool {
        let instants = [
            zeroUTCNanoseconds, zeroMonotonicNanoseconds, clock?.zeroWallNanoseconds ?? 0,
        ]
        let lengths = [
            segmentNanoseconds, startWindowNanoseconds, clock?.wallErrorNanoseconds ?? 0,
            clock?.zeroErrorNanoseconds ?? 0,
        ]
        guard instants.allSatisfy({ $0.magnitude <= UTCTime.farthestNanoseconds }) else {
            return false
        }
        switch state {
        case .recording:
            // It may be gone on with, on its grid.
            return segmentNanoseconds > 0
                && lengths.allSatisfy((0...Self.longestNanoseconds).contains)
        case .finished: return lengths.allSatisfy { $0 >= 0 }
        }
    }

    /// The manifest as the bytes of `session.json`.
    package func encoded() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
        } catch {
            preconditionFailure("a manifest of plain values always encodes: \(error)")
        }
    }
}
