import Hashing
import Media
import RTSP

/// A login for one message (OASIS "Web Services Security UsernameToken Profile 1.0" §3.1): the password is sent as a digest
/// over it, a nonce and a time, by which the camera detects repetitions.
struct UsernameToken {
    private static let secext =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
    private static let utility =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
    private static let profile =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest"
    private static let encoding =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"

    /// The header element.
    let header: String

    /// - Parameters:
    ///   - nonce: unpredictable bytes, others for each message.
    ///   - seconds: the time by the camera's clock, since 1970 (UTC): cameras refuse a message of another time.
    init(_ login: CameraLogin, nonce: [UInt8], cameraSeconds seconds: Int64) {
        let time = CivilTime(secondsSince1970: seconds)
        let created = "\(time.date)T\(time.clock)Z"
        let digest = ByteText.base64(
            HashFunction.sha1.hash(nonce + Array(created.utf8) + Array(login.password.utf8)))
        header = """
            <w:Security xmlns:w="\(Self.secext)" xmlns:u="\(Self.utility)" s:mustUnderstand="1"><w:UsernameToken>\
            <w:Username>\(SOAPEnvelope.escaped(login.user))</w:Username>\
            <w:Password Type="\(Self.profile)">\(digest)</w:Password>\
            <w:Nonce EncodingType="\(Self.encoding)">\(ByteText.base64(nonce))</w:Nonce>\
            <u:Created>\(created)</u:Created></w:UsernameToken></w:Security>
            """
    }
}
