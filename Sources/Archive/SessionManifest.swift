import FoundationEssentials

/// `session.json`: what a session is, beside its recordings.
package struct SessionManifest: Codable, Hashable, Sendable {
    /// How this session's files are laid out; readers refuse what they do not know.
    package static let formatVersion = 1
    /// A manifest larger than this was not written by us.
    private static let maximumBytes = 4 << 20

    package enum State: String, Codable, Sendable {
        case recording
        case finished
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

    /// Reads a manifest.
    package static func read(_ path: String) throws(ArchiveError) -> SessionManifest {
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        let manifest: SessionManifest
        do {
            manifest = try JSONDecoder().decode(SessionManifest.self, from: Data(bytes))
        } catch {
            throw .malformed(path: path, reason: "not a session's description")
        }
        guard manifest.format == formatVersion else {
            throw .malformed(
                path: path,
                reason: "written in format \(manifest.format), this program knows \(formatVersion)")
        }
        return manifest
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
