import Hashing
import Media
import RTSP
import Testing

@testable import ONVIF

/// A camera's ONVIF services, without sockets.
struct FakeDevice {
    enum Login {
        case none
        /// HTTP digest with MD5, and a new nonce after this number of requests.
        case digest(lifetime: Int)
        /// WS-UsernameToken by the camera's own clock.
        case token
        /// Each login is refused, both ways.
        case locked
    }

    let login: Login
    let user = "admin"
    let password = "geheim"
    /// Its clock less ours, seconds.
    let aheadSeconds: Int64
    /// Answers by operation: the body's element. Other operations are refused.
    var answers: [String: String]
    private(set) var asked: [String] = []
    /// Where the requests were sent.
    private(set) var hosts: Set<String> = []
    /// Requests with credentials.
    private(set) var attempts = 0
    private var nonce = 1
    private var uses = 0

    init(
        login: Login = .none, aheadSeconds: Int64 = 0,
        answers: [String: String] = FakeDevice.second
    ) {
        self.login = login
        self.aheadSeconds = aheadSeconds
        self.answers = answers
    }

    static let now: Int64 = 1_790_000_000

    /// A camera of Profile T, with H.265 and a small H.264 stream.
    static let second: [String: String] = [
        "GetDeviceInformation": """
        <tds:GetDeviceInformationResponse><tds:Manufacturer>ACME</tds:Manufacturer><tds:Model>Dome &amp; Co</tds:Model>\
        <tds:FirmwareVersion>1.2</tds:FirmwareVersion><tds:SerialNumber>A-7</tds:SerialNumber>\
        </tds:GetDeviceInformationResponse>
        """,
        "GetServices": """
        <tds:GetServicesResponse><tds:Service><tds:Namespace>http://www.onvif.org/ver10/media/wsdl</tds:Namespace>\
        <tds:XAddr>http://10.0.0.7/onvif/media</tds:XAddr></tds:Service>\
        <tds:Service><tds:Namespace>http://www.onvif.org/ver20/media/wsdl</tds:Namespace>\
        <tds:XAddr>http://192.168.1.2:8000/onvif/media2</tds:XAddr></tds:Service></tds:GetServicesResponse>
        """,
        "GetProfiles": """
        <tr2:GetProfilesResponse><tr2:Profiles token="main" fixed="true"><tr2:Name>Main</tr2:Name><tr2:Configurations>\
        <tr2:VideoEncoder token="v" GovLength="50"><tt:Encoding>H265</tt:Encoding><tt:Resolution><tt:Width>3840</tt:Width>\
        <tt:Height>2160</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>25.0</tt:FrameRateLimit>\
        <tt:BitrateLimit>8192</tt:BitrateLimit></tt:RateControl></tr2:VideoEncoder><tr2:AudioEncoder token="a">\
        <tt:Encoding>MP4A-LATM</tt:Encoding><tt:Bitrate>64</tt:Bitrate><tt:SampleRate>16</tt:SampleRate>\
        </tr2:AudioEncoder></tr2:Configurations></tr2:Profiles><tr2:Profiles token="sub"><tr2:Name>Sub</tr2:Name>\
        <tr2:Configurations><tr2:VideoEncoder token="w"><tt:Encoding>H264</tt:Encoding><tt:Resolution>\
        <tt:Width>640</tt:Width><tt:Height>360</tt:Height></tt:Resolution></tr2:VideoEncoder></tr2:Configurations>\
        </tr2:Profiles></tr2:GetProfilesResponse>
        """,
        "GetStreamUri": """
        <tr2:GetStreamUriResponse><tr2:Uri>rtsp://admin:geheim@192.168.1.2:8554/live?channel=1&amp;sub=0</tr2:Uri>\
        </tr2:GetStreamUriResponse>
        """,
    ]

    /// A camera of Profile S without a list of services.
    static let first: [String: String] = [
        "GetCapabilities": """
        <tds:GetCapabilitiesResponse><tds:Capabilities><tt:Media><tt:XAddr>http://10.0.0.7/onvif/media</tt:XAddr>\
        </tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>
        """,
        "GetProfiles": """
        <trt:GetProfilesResponse><trt:Profiles token="p&lt;1&gt;"><tt:Name>One</tt:Name><tt:VideoEncoderConfiguration>\
        <tt:Encoding>H264</tt:Encoding><tt:Resolution><tt:Width>1920</tt:Width><tt:Height>1080</tt:Height></tt:Resolution>\
        <tt:RateControl><tt:FrameRateLimit>30</tt:FrameRateLimit><tt:EncodingInterval>1</tt:EncodingInterval>\
        <tt:BitrateLimit>4096</tt:BitrateLimit></tt:RateControl><tt:H264><tt:GovLength>60</tt:GovLength></tt:H264>\
        </tt:VideoEncoderConfiguration><tt:AudioEncoderConfiguration><tt:Encoding>G711</tt:Encoding>\
        <tt:SampleRate>8</tt:SampleRate></tt:AudioEncoderConfiguration></trt:Profiles></trt:GetProfilesResponse>
        """,
        "GetStreamUri": """
        <trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>rtsp://10.0.0.7/one</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>
        """,
    ]

    mutating func answer(_ request: DeviceRequest) throws -> HTTPResponse {
        let text = String(decoding: request.bytes, as: UTF8.self)
        let operation = try operation(of: text)
        asked.append(operation)
        hosts.insert(request.url.host)
        if text.contains("Authorization: ") || text.contains("UsernameToken") { attempts += 1 }
        if operation == "GetSystemDateAndTime" { return try response(200, clock) }
        guard isLoggedIn(text, request.url.path) else { return try unauthorised() }
        guard let answer = answers[operation] else {
            return try fault(
                """
                <s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>ter:ActionNotSupported</s:Value></s:Subcode></s:Code>\
                <s:Reason><s:Text xml:lang="en">Optional Action Not Implemented</s:Text></s:Reason>
                """, 500)
        }
        return try response(200, answer)
    }

    private func operation(of text: String) throws -> String {
        let name = try #require(text.split(separator: "<s:Body><q:").last?.prefix { $0.isLetter })
        return String(name)
    }

    private var clock: String {
        let time = CivilTime(secondsSince1970: Self.now + aheadSeconds)
        return """
            <tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>Manual</tt:DateTimeType>\
            <tt:UTCDateTime><tt:Time><tt:Hour>\(time.hour)</tt:Hour><tt:Minute>\(time.minute)</tt:Minute>\
            <tt:Second>\(time.second)</tt:Second></tt:Time><tt:Date><tt:Year>\(time.year)</tt:Year>\
            <tt:Month>\(time.month)</tt:Month><tt:Day>\(time.day)</tt:Day></tt:Date></tt:UTCDateTime>\
            </tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>
            """
    }

    // MARK: Login

    private mutating func isLoggedIn(_ text: String, _ path: String) -> Bool {
        switch login {
        case .none: return true
        case .locked: return false
        case .token: return isTokenRight(text)
        case .digest(let lifetime):
            guard isDigestRight(text, path) else { return false }
            uses += 1
            if uses >= lifetime {
                nonce += 1
                uses = 0
            }
            return true
        }
    }

    /// RFC 2617 §3.2.2.1, without `qop`.
    private func isDigestRight(_ text: String, _ path: String) -> Bool {
        func hash(_ text: String) -> String {
            ByteText.hexadecimal(HashFunction.md5.hash(Array(text.utf8)))
        }
        let secret = hash("\(user):here:\(password)")
        let answer = hash("\(secret):n\(nonce):\(hash("POST:\(path)"))")
        return text.contains("response=\"\(answer)\"")
    }

    private func isTokenRight(_ text: String) -> Bool {
        func value(after start: String) -> String? {
            let parts = text.split(separator: start)
            return parts.count == 2 ? String(parts[1].prefix { $0 != "<" }) : nil
        }
        guard value(after: "<w:Username>") == user, let created = value(after: "<u:Created>"),
            let nonce = value(after: "#Base64Binary\">").flatMap({ ByteText.decode(base64: $0) }),
            let time = CivilTime(created.utf8.dropLast())
        else { return false }
        let distance = time.secondsSince1970 - Self.now - aheadSeconds
        let digest = HashFunction.sha1.hash(
            nonce + Array(created.utf8) + Array(password.utf8))
        return distance.magnitude <= 5
            && value(after: "#PasswordDigest\">") == ByteText.base64(digest)
    }

    private func unauthorised() throws -> HTTPResponse {
        switch login {
        case .digest, .locked:
            return try response(
                401, "", "WWW-Authenticate: Digest realm=\"here\", nonce=\"n\(nonce)\"\r\n")
        case .token, .none:
            return try fault(
                """
                <s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>ter:NotAuthorized</s:Value></s:Subcode></s:Code>\
                <s:Reason><s:Text xml:lang="en">Sender not Authorized</s:Text></s:Reason>
                """, 400)
        }
    }

    private func fault(_ content: String, _ status: Int) throws -> HTTPResponse {
        try response(status, "<s:Fault>\(content)</s:Fault>")
    }

    private func response(
        _ status: Int, _ body: String, _ header: String = ""
    ) throws -> HTTPResponse {
        var reader = HTTPResponseReader()
        let content = body.isEmpty ? "" : SOAPEnvelope.text(header: "", body: body)
        let text =
            "HTTP/1.1 \(status) X\r\n\(header)Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
        return try #require(try reader.add(Array(text.utf8)))
    }
}
