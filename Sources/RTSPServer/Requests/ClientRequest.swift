package import RTSP

/// A client's request (RFC 2326 §6).
package struct ClientRequest: Hashable, Sendable {
    package enum Method: String, Hashable, Sendable, CaseIterable {
        case options = "OPTIONS"
        case describe = "DESCRIBE"
        case setUp = "SETUP"
        case play = "PLAY"
        case pause = "PAUSE"
        case tearDown = "TEARDOWN"
        case getParameter = "GET_PARAMETER"
        case setParameter = "SET_PARAMETER"
        case announce = "ANNOUNCE"
        case record = "RECORD"
        case redirect = "REDIRECT"
    }

    /// Nil for a method that is not in RFC 2326.
    package let method: Method?
    /// Unparsed; printable ASCII.
    package let uri: String
    /// `CSeq`, decimal digits.
    package let sequence: String
    package let head: RTSPHead

    /// Maximum length of `CSeq`.
    private static let maximumSequenceDigits = 10

    init(_ head: RTSPHead) throws(RTSPServerError) {
        let words = head.firstLine.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "RTSP/1.0" || words[2] == "RTSP/2.0" else {
            throw .malformedMessage("its first line is no request of RTSP/1.0")
        }
        guard !words[1].isEmpty, words[1].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .malformedMessage("its URI has a character that must be written as %XX")
        }
        guard let sequence = head.value("cseq"), !sequence.isEmpty,
            sequence.utf8.count <= Self.maximumSequenceDigits,
            sequence.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { throw .malformedMessage("it has no CSeq") }
        method = Method(rawValue: String(words[0]))
        uri = String(words[1])
        self.sequence = sequence
        self.head = head
    }
}
