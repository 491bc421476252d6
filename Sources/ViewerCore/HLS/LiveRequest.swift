/// The delivery directives of a request for a live playlist (draft-pantos-hls-rfc8216bis §6.2.5).
package struct LiveRequest: Hashable, Sendable {
    /// The request cannot be answered: 400.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// `_HLS_msn`: the playlist has to have the segment with this media sequence number.
    package var sequence: UInt64?
    /// `_HLS_part`: the playlist has to have this part of it.
    package var part: Int?
    /// `_HLS_skip`: a delta update is welcome.
    package var skipsOldSegments: Bool

    package init(sequence: UInt64? = nil, part: Int? = nil, skipsOldSegments: Bool = false) {
        self.sequence = sequence
        self.part = part
        self.skipsOldSegments = skipsOldSegments
    }

    /// Parses the query parameters `_HLS_msn`, `_HLS_part` and `_HLS_skip`; nil: missing.
    package init(msn: String?, part: String?, skip: String?) throws(Malformed) {
        if let msn { sequence = try Self.number(msn, "_HLS_msn") }
        if let part { self.part = Int(clamping: try Self.number(part, "_HLS_part")) }
        // With `v2`, older date ranges may be skipped too; a live playlist has none.
        guard skip == nil || skip == "YES" || skip == "v2" else {
            throw Malformed(description: "_HLS_skip must be YES or v2")
        }
        skipsOldSegments = skip != nil
    }

    /// A decimal-integer (RFC 8216 §4.2): digits, at most 20 of them.
    private static func number(_ text: String, _ name: String) throws(Malformed) -> UInt64 {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard text.utf8.count <= 20, text.utf8.allSatisfy({ digits.contains($0) }),
            let value = UInt64(text)
        else { throw Malformed(description: "\(name) must be a decimal integer") }
        return value
    }
}

/// Response to a request for a live playlist.
package enum LiveAnswer: Hashable, Sendable {
    /// The playlist, or a delta update of it.
    case playlist(String)
    /// Not yet: retry when a part has been appended. Nil: waits for the whole segment. After
    /// ``LiveTiming/patienceNanoseconds`` the answer is 503.
    case wait(untilSequence: UInt64, part: Int?)
    /// 400, with the reason.
    case badRequest(String)
}
