import Foundation
import Testing

extension EndToEnd {
    /// The viewer with a TLS certificate.
    @Suite(.serialized, .enabled(if: Foreign.curl != nil, "curl asks")) struct ViewerTLSTests {
        /// A certificate for `viewer.test`, and its key.
        private func certificate(on stage: Stage) async throws -> (chain: String, key: String) {
            let chain = stage.directory.appending(path: "chain.pem").path
            let key = stage.directory.appending(path: "key.pem").path
            try await stage.start(
                at: try #require(Foreign.openSSL),
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout",
                    key, "-out", chain, "-subj", "/CN=viewer.test", "-addext",
                    "subjectAltName=DNS:viewer.test",
                ]
            ).succeeds()
            return (chain, key)
        }

        @Test(.enabled(if: Foreign.openSSL != nil, "openssl makes the certificate"))
        func `over TLS it speaks HTTP 2, under the names in its certificate`() async throws {
            try await Stage.with { stage in
                let (chain, key) = try await certificate(on: stage)
                let served = try await ServedArchive(
                    on: stage, "--tls-certificate", chain, "--tls-key", key)
                #expect(served.address.hasPrefix("https://"))
                func head(of host: String) async throws -> String {
                    try await served.get(
                        "/healthz", "--insecure", "--include", "--header", "Host: \(host)"
                    ).text
                }
                #expect(try await head(of: "viewer.test").hasPrefix("HTTP/2 200"))
                #expect(try await head(of: "elsewhere.example").hasPrefix("HTTP/2 421"))
            }
        }

        @Test(.enabled(if: Foreign.openSSL != nil, "openssl makes the certificate"))
        func `over TLS, a renewed certificate is served without a restart`() async throws {
            try await Stage.with { stage in
                let (chain, key) = try await certificate(on: stage)
                let served = try await ServedArchive(
                    on: stage, "--tls-certificate", chain, "--tls-key", key)
                let place = try #require(served.address.split(separator: "/").last)
                let openSSL = try #require(Foreign.openSSL)
                func isServed(_ certificate: String) async throws -> Bool {
                    try await stage.start(
                        at: openSSL, ["s_client", "-connect", String(place)]
                    ).succeeds().output.contains(certificate)
                }
                let first = try String(contentsOfFile: chain, encoding: .utf8)
                #expect(try await isServed(first))
                _ = try await self.certificate(on: stage)
                let second = try String(contentsOfFile: chain, encoding: .utf8)
                #expect(first != second)
                let deadline = ContinuousClock.now + Running.patience
                while !(try await isServed(second)) {
                    try #require(ContinuousClock.now < deadline)
                    try await Task.sleep(for: .milliseconds(500))
                }
                #expect(try await served.get("/healthz", "--insecure").status == 200)
            }
        }

        @Test(.enabled(if: Foreign.openSSL != nil, "openssl makes the certificate"))
        func `over TLS, a silent connection is closed`() async throws {
            try await Stage.with { stage in
                let (chain, key) = try await certificate(on: stage)
                let served = try await ServedArchive(
                    on: stage, "--tls-certificate", chain, "--tls-key", key)
                let port = try #require(served.address.split(separator: ":").last)
                // Reads until the viewer closes.
                try await stage.start(
                    at: URL(filePath: "/bin/bash"),
                    ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); cat <&3 > /dev/null || true"]
                ).succeeds()
            }
        }
    }
}
