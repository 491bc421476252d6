import Files
import Glibc
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Synchronization

/// The viewer's certificate and key. The files are read again every few seconds: a renewed certificate needs no restart.
final class Certificate: Service {
    private static let readInterval = Duration.seconds(10)

    /// The configuration of servers. New connections after a renewal get the new certificate.
    let configuration: TLSConfiguration
    /// The names and addresses of the certificate at the start.
    let names: [String]

    private let files: CertificateFiles
    private let current: CurrentPair
    private let logger: Logger

    init(_ files: CertificateFiles, logger: Logger) throws(ViewerError) {
        self.files = files
        self.logger = logger
        do {
            let pair = try CertificatePair(files)
            let current = CurrentPair(pair)
            var configuration = pair.configuration
            configuration.sslContextCallback = { _, promise in promise.succeed(current.override) }
            self.configuration = configuration
            self.current = current
            names = pair.chain.first.map(Self.names) ?? []
        } catch {
            // The library does not say which file it cannot read, and why.
            let paths: [String] = [files.chain, files.key]
            let unreadable = paths.first { (path: String) in access(path, R_OK) != 0 }
            let cause = systemMessage(errno)
            throw .noCertificate(
                files, reason: unreadable.map { "cannot read \($0): \(cause)" } ?? "\(error)")
        }
    }

    /// Reads the files until the viewer ends.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while true {
                do {
                    try await Task.sleep(for: Self.readInterval)
                } catch {
                    return
                }
                self.readAgain()
            }
        }
    }

    /// Loads a renewed certificate. Its two files are replaced in succession: a pair that does not match is loaded again later.
    func readAgain() {
        do {
            if try current.replace(with: CertificatePair(files)) {
                logger.info("the certificate \(files.chain) was renewed")
            }
        } catch {
            logger.warning("the certificate \(files.chain) was not read again: \(error)")
        }
    }

    private static func names(of certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().compactMap { name in
            name.contents.withUnsafeBufferPointer { bytes in
                switch name.nameType {
                case .dnsName: String(validating: bytes, as: UTF8.self)
                case .ipAddress where bytes.count == 4:
                    bytes.map { String($0) }.joined(separator: ".")
                case .ipAddress where bytes.count == 16:
                    stride(from: 0, to: 16, by: 2).map {
                        String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
                    }.joined(separator: ":")
                default: nil
                }
            }
        }
    }
}

/// A certificate chain and its key.
private struct CertificatePair: Equatable, Sendable {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// Reads two PEM files.
    /// - Throws: if one cannot be read, or the key is not that of the certificate.
    init(_ files: CertificateFiles) throws {
        chain = try NIOSSLCertificate.fromPEMFile(files.chain)
        key = try NIOSSLPrivateKey(file: files.key, format: .pem)
        // A context accepts only a key that matches the certificate.
        _ = try NIOSSLContext(configuration: configuration)
    }

    /// TLS 1.2 or later.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }
}

/// The pair that new connections get.
private final class CurrentPair: Sendable {
    private let pair: Mutex<CertificatePair>

    init(_ pair: CertificatePair) { self.pair = Mutex(pair) }

    /// - Returns: whether it is another pair than before.
    func replace(with new: CertificatePair) -> Bool {
        pair.withLock { pair in
            guard pair != new else { return false }
            pair = new
            return true
        }
    }

    var override: NIOSSLContextConfigurationOverride {
        let pair = pair.withLock { $0 }
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = pair.chain.map { .certificate($0) }
        override.privateKey = .privateKey(pair.key)
        return override
    }
}
