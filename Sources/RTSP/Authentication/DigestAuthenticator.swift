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
            guard Self.isUsable(quality: offer) else { continue }
            best = (algorithm, offer)
        }
        guard let best, let nonce = best.offer.parameters["nonce"] else { return nil }
        algorithm = best.algorithm
        self.nonce = nonce
        realm = best.offer.parameters["realm"] ?? ""
        opaque = best.offer.parameters["opaque"]
        hasQuality = !Self.qualities(best.offer).isEmpty
        algorithmName = best.offer.parameters["algorithm"]
        self.login = login
        self.clientNonce = clientNonce
    }

    /// The offered `qop` values; none in RFC 2069's digest, and from cameras that leave the value empty.
    private static func qualities(_ offer: AuthenticationChallenge) -> [String] {
        (offer.parameters["qop"] ?? "").split(separator: ",")
            .map { String($0).trimmed.lowercased() }.filter { !$0.isEmpty }
    }

    private static func isUsable(quality offer: AuthenticationChallenge) -> Bool {
        let qualities = qualities(offer)
        return qualities.isEmpty || qualities.contains("auth")
    }

    /// Why none of a camera's challenges can be answered, with the remedy.
    static func refusal(_ offers: [AuthenticationChallenge]) -> String {
        guard !offers.isEmpty else { return "it asks for a login and offers no way to log in" }
        let digests = offers.filter { $0.scheme == "digest" }
        if digests.isEmpty {
            let names = Set(offers.map { printable($0.scheme, limit: 20) }).sorted()
            return
                "it offers no digest authentication (\(names.joined(separator: ", "))): "
                + "the password would cross the network readable; enable digest at the camera"
        }
        if let other = digests.first(where: { !isUsable(quality: $0) }) {
            let name = printable(other.parameters["qop"] ?? "", limit: 20)
            return
                "its digest authentication needs qop=\(name), which is not supported: allow qop=auth at the camera"
        }
        guard let other = digests.compactMap({ $0.parameters["algorithm"] }).first else {
            return "its digest authentication has no nonce: update the camera's firmware"
        }
        return
            "its digest authentication needs \(printable(other, limit: 20)), which is not supported: select MD5 or SHA-256 at the camera"
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
