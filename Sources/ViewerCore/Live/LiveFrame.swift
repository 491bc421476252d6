import Archive
import FoundationEssentials
import Media

/// A piece of the live stream: a header in JSON, and the bytes of an initialization section or a fragment.
///
/// On the wire: u32 bytes of the header, u32 bytes of the body, the header, the body; numbers are big-endian.
struct LiveFrame: Sendable {
    /// The header; times in seconds, as in all JSON.
    struct Header: Encodable, Sendable {
        enum Kind: String, Encodable, Sendable {
            /// A source appears, or its format changes; the body is its initialization section.
            case begin
            /// The body is a fragment.
            case media
            /// Media was dropped; the next fragment begins with a keyframe.
            case skipped
            /// A source has stopped sending.
            case gone
            /// No other frame for a second.
            case beat
        }

        var type: Kind
        var source: String?
        /// The collector whose feed it comes from; nil: the viewer hears only one.
        var collector: String?
        var session: String?
        /// The session's zero, RFC 3339.
        var zero: String?
        var codecs: String?
        var atSeconds: Double?
        var durationSeconds: Double?
        var boundSeconds: Double?
        var lagSeconds: Double?
        var isKeyframe: Bool?

        init(_ type: Kind, source: String? = nil) {
            self.type = type
            self.source = source
        }
    }

    /// The contents of the body.
    enum Content: Sendable {
        case begin(LiveFormat, initialization: [UInt8])
        case media(LiveFragment)
        case skipped, gone, beat
    }

    let content: Content
    let kind: Header.Kind
    let source: String?
    let isMedia: Bool
    let beginsDecodable: Bool
    let bytes: [UInt8]

    static func skipped(_ source: String) -> LiveFrame {
        LiveFrame(Header(.skipped, source: source), .skipped)
    }

    static func gone(_ source: String) -> LiveFrame {
        LiveFrame(Header(.gone, source: source), .gone)
    }

    static let beat = LiveFrame(Header(.beat), .beat)

    private init(_ header: Header, _ content: Content, body: [UInt8] = []) {
        self.content = content
        kind = header.type
        source = header.source
        isMedia = header.type == .media
        beginsDecodable = header.isKeyframe ?? false
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text: [UInt8]
        do {
            text = Array(try encoder.encode(header))
        } catch {
            preconditionFailure("numbers of samples are finite: \(error)")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 + text.count + body.count)
        for count in [text.count, body.count] {
            withUnsafeBytes(of: UInt32(count).bigEndian) { bytes += $0 }
        }
        self.bytes = bytes + text + body
    }

    init(_ fragment: LiveFragment) {
        var header = Header(.media, source: fragment.source)
        header.atSeconds = Double(fragment.startNanoseconds) / 1e9
        header.durationSeconds = Double(fragment.durationNanoseconds) / 1e9
        header.boundSeconds = Double(fragment.boundNanoseconds) / 1e9
        header.lagSeconds = Double(fragment.lagNanoseconds) / 1e9
        header.isKeyframe = fragment.beginsDecodable
        self.init(header, .media(fragment), body: fragment.bytes)
    }

    init(_ format: LiveFormat, of source: String) throws(LiveError) {
        var header = Header(.begin, source: source)
        header.collector = format.collector.isEmpty ? nil : format.collector
        header.session = format.session
        header.zero = UTCTime(nanoseconds: format.zeroUTCNanoseconds).description
        header.codecs = format.codecs
        let bytes = try format.initialization()
        self.init(header, .begin(format, initialization: bytes), body: bytes)
    }
}
