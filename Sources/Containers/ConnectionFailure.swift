import CFFmpeg
import FFmpegSupport
import Glibc

/// The reason why libavformat could not connect to a streaming server.
enum ConnectionFailure {
    /// Errors of the system with many possible causes.
    private static let vagueErrors: Set = [EIO, EINVAL, EPERM]
    /// Error codes of the system are smaller; those of the library are four letters.
    private static let largestSystemError: Int32 = 4_096

    /// - Parameters:
    ///   - code: of the library.
    ///   - complaint: the first error that the library has logged.
    ///   - url: passwords and stream keys in it are never repeated.
    static func reason(_ code: Int32, complaint: String?, url: String) -> String {
        if let refusal = SRTLibrary.refusal(by: url) { return refusal }
        let isVague = -code > largestSystemError || vagueErrors.contains(-code)
        if isVague, let complaint, words(complaint).isDisjoint(with: secrets(of: url)) {
            return complaint.trimming { $0.isWhitespace || $0 == "." }
        }
        if code == CFFmpeg_ERROR_INVALIDDATA, url.lowercased().hasPrefix("rtsp") {
            return "the server does not answer with RTSP"
        }
        return libraryErrorText(code)
    }

    /// The words of a URL that may be secret: all but scheme, host and port.
    private static func secrets(of url: String) -> Set<Substring> {
        guard let mark = url.firstRange(of: "://") else { return words(url) }
        let rest = url[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let user = authority.lastIndex(of: "@").map { authority[..<$0] } ?? ""
        let parts = [user, rest[authority.endIndex...]]
        // The library may log them decoded.
        return parts.reduce(into: []) { secrets, part in
            secrets.formUnion(words(part))
            secrets.formUnion(words(decoded(part)))
        }
    }

    /// Percent-encoding (RFC 3986, §2.1) undone.
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let code = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), code.utf8.count == 2, let value = UInt8(code, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func words(_ text: some StringProtocol) -> Set<Substring> {
        Set(Substring(text).split { !$0.isLetter && !$0.isNumber })
    }
}

extension String {
    fileprivate func trimming(_ isSuperfluous: (Character) -> Bool) -> String {
        var text = Substring(self)
        while let last = text.last, isSuperfluous(last) { text.removeLast() }
        return String(text.drop(while: isSuperfluous))
    }
}
