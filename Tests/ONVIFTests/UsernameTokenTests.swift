import Hashing
import Media
import RTSP
import Testing

@testable import ONVIF

@Suite struct UsernameTokenTests {
    /// ONVIF Application Programmer's Guide 1.0, §6.1.1.3.
    @Test func `the digest is that of ONVIF's example`() throws {
        let time = try #require(
            CivilTime(year: 2010, month: 9, day: 16, hour: 7, minute: 50, second: 45))
        let nonce = try #require(ByteText.decode(base64: "LKqI6G/AikKCQrN0zqZFlg=="))
        let token = UsernameToken(
            CameraLogin(user: "u<s>&r", password: "userpassword"), nonce: nonce,
            cameraSeconds: time.secondsSince1970)
        #expect(token.header.contains(">tuOSpGlFlIXsozq4HFNeeGeFLEI=</w:Password>"))
        #expect(token.header.contains(">2010-09-16T07:50:45Z</u:Created>"))
        #expect(token.header.contains(">LKqI6G/AikKCQrN0zqZFlg==</w:Nonce>"))
        #expect(token.header.contains("<w:Username>u&lt;s&gt;&amp;r</w:Username>"))
        #expect(!token.header.contains("userpassword"))
    }
}
