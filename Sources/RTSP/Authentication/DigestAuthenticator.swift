import Hashing

/// Digest authentication (RFC 7616, RFC 2617) with MD5 and SHA-256, also `-sess`.
package struct DigestAuthenticator: Hashable, Sendable {
    package enum Algorithm: Int, Hashable, Comparable, Sendable {
        case md5, md5Session, sha256, sha256Session

        init?(name: String?) {
            switch name?.uppercased() {
            case nil, "MD5": self = .md5
            case "MD5-SESS": self = .md5Session
            case "SHA-256": self = .sha256
            case "SHA-256-SESS": self = .sha256Session
            default: return nil
            }
        }

        var function: HashFunction {
            switch self {
            case .md5, .md5Session: .md5
            case .sha256, .sha256Session: .sha256
            }
        }

        var isSession: Bool { self == .md5Session || self == .sha256Session }

        package static func < (left: Algorithm, right: Algorithm) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// The algorithm of the selected challenge.
    package let algorithm: Algorithm
    package let nonce: String
    private let realm: String
    private let opaque: String?
    private let hasQuality: Bool
    /// Spelled as in the challenge, because some cameras compare it.
    private let algorithmName: String?
    private let login: CameraLogin
    private let clientNonce: String
    private var count: UInt32 = 0

    /// Selects the challenge with the strongest algorithm; nil if none is a supported digest.
    /// - Parameter clientNonce: unpredictable.
    package init?(
        _ offers: [AuthenticationChallenge], login: CameraLogin, clientNonce: String
    ) {
        var best: (algorithm: Algorithm, offer: AuthenticationChallenge)?
        for offer in offers where offer.scheme == "digest" {
            guard let algorithm = Algorithm(name: offer.parameters["algorithm"]),
                offer.parameters["nonce"] != nil, algorithm > best?.algorithm ?? .md5 || best == nil
            else { continue }
            if let qualities = offer.parameters["qop"], !Self.list(qualities).contains("auth") {
                continue
            }
            best = (algorithm, offer)
        }
        guard let best, let nonce = best.offer.parameters["nonce"] else { return nil }
        algorithm = best.algorithm
        self.nonce = nonce
        realm = best.offer.parameters["realm"] ?? ""
        opaque = best.offer.parameters["opaque"]
        hasQuality = best.offer.parameters["qop"] != nil
        algorithmName = best.offer.parameters["algorithm"]
        self.login = login
        self.clientNonce = clientNonce
    }

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map { String($0).trimmed.lowercased() }
    }

    /// The value of the `Authorization` header for the next request.
    package mutating func authorization(method: String, uri: String) -> String {
        count &+= 1
        let digits = String(count, radix: 16)
        let countText = String(repeating: "0", count: 8 - digits.count) + digits
        var secret = hash("\(login.user):\(realm):\(login.password)")
        if algorithm.isSession { secret = hash("\(secret):\(nonce):\(clientNonce)") }
        let request = hash("\(method):\(uri)")
        let answer =
            hasQuality
            ? hash("\(secret):\(nonce):\(countText):\(clientNonce):auth:\(request)")
            : hash("\(secret):\(nonce):\(request)")
        var fields = [
            "username=\(Self.quoted(login.user))", "realm=\(Self.quoted(realm))",
            "nonce=\(Self.quoted(nonce))", "uri=\(Self.quoted(uri))", "response=\"\(answer)\"",
        ]
        if let algorithmName { fields.append("algorithm=\(Self.token(algorithmName))") }
        if let opaque { fields.append("opaque=\(Self.quoted(opaque))") }
        if hasQuality {
            fields += ["qop=auth", "nc=\(countText)", "cnonce=\"\(clientNonce)\""]
        } else if algorithm.isSession {
            fields.append("cnonce=\"\(clientNonce)\"")
        }
        return "Digest " + fields.joined(separator: ", ")
    }

    private func hash(_ text: String) -> String {
        ByteText.hexadecimal(algorithm.function.hash(Array(text.utf8)))
    }

    /// A quoted string. Characters from the camera that would end it are escaped.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars where scalar.value >= 0x20 && scalar.value != 0x7F {
            if scalar == "\"" || scalar == "\\" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }

    private static func token(_ text: String) -> String {
        text.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    }
}
