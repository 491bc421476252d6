import Testing

@testable import Devices

/// A camera's certificate, and its end of a TLS connection that says anything.
@Suite struct TLSConnectionTests {
    @Test func `a fingerprint is read as OpenSSL prints it`() throws {
        let digits = String(repeating: "0a", count: 31) + "FF"
        let fingerprint = try #require(CertificateFingerprint(parsing: digits))
        let shown = Array(repeating: "0A", count: 31).joined(separator: ":") + ":FF"
        #expect(fingerprint.description == shown)
        #expect(CertificateFingerprint(parsing: shown) == fingerprint)
    }

    @Test(arguments: [
        "", "0a", String(repeating: "0a", count: 33), String(repeating: "0g", count: 32),
        String(repeating: "+a", count: 32), String(repeating: ":", count: 64),
    ])
    func `an invalid fingerprint is refused`(text: String) {
        #expect(CertificateFingerprint(parsing: text) == nil)
    }

    @Test func `a handshake begins with a client's greeting, and names the host`() throws {
        let connection = try TLSConnection(host: "camera.example", trust: CameraTrust())
        try connection.send(Array("OPTIONS rtsps://camera.example/ RTSP/1.0".utf8))
        let sent = connection.takeOutgoing()
        // A handshake record (RFC 8446 §5.1); a request in it would be readable.
        #expect(sent.first == 22)
        #expect(!connection.isEstablished)
        let text = String(decoding: sent, as: UTF8.self)
        #expect(text.contains("camera.example") && !text.contains("OPTIONS"))
        // An address is not a server name (RFC 6066 §3).
        let numeric = try TLSConnection(host: "10.0.0.7", trust: CameraTrust())
        try numeric.send([1])
        #expect(!String(decoding: numeric.takeOutgoing(), as: UTF8.self).contains("10.0.0.7"))
    }

    @Test(arguments: [
        Array("RTSP/1.0 200 OK\r\n\r\n".utf8), [UInt8](repeating: 0, count: 70_000),
        [22, 3, 3, 0xFF, 0xFF] + [UInt8](repeating: 7, count: 70_000), [21, 3, 3, 0, 2, 2, 40],
    ])
    func `an answer other than TLS ends the connection with a reason`(answer: [UInt8]) throws {
        let connection = try TLSConnection(host: "camera", trust: CameraTrust())
        try connection.send([1])
        let failure = #expect(throws: NetworkFailure.self) { _ = try connection.received(answer) }
        let reason = try #require(failure?.reason)
        #expect(reason.contains("TLS handshake failed"))
        #expect(!connection.isEstablished)
    }

    @Test func `authorities that cannot be read are an error with their file`() throws {
        let failure = #expect(throws: NetworkFailure.self) {
            _ = try TLSConnection(
                host: "camera", trust: CameraTrust(authorities: "/nowhere/authorities.pem"))
        }
        let reason = try #require(failure?.reason)
        #expect(reason.contains("/nowhere/authorities.pem"))
    }
}
