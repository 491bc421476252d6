import Logging
import NIOCertificateReloading
import NIOSSL
import ServiceLifecycle

/// The viewer's certificate: read again when it has been renewed, so that nobody has to restart anything.
struct Certificate: Sendable {
    /// How often the two files are looked at. One that does not fit the other is not taken: they are replaced one after the other.
    private static let lookSeconds = 10

    /// What servers of this certificate are configured with; connections that come after a renewal have the new one.
    let configuration: TLSConfiguration
    /// The names and addresses that it is for.
    let names: [String]
    private let reloader: TimedCertificateReloader

    init(_ files: CertificateFiles, logger: Logger) throws(ViewerError) {
        do {
            reloader = try TimedCertificateReloader.makeReloaderValidatingSources(
                refreshInterval: .seconds(Self.lookSeconds),
                certificateSource: .init(location: .file(path: files.chain), format: .pem),
                privateKeySource: .init(location: .file(path: files.key), format: .pem),
                logger: logger)
            var configuration = try TLSConfiguration.makeServerConfiguration(
                certificateReloader: reloader)
            configuration.minimumTLSVersion = .tlsv12
            self.configuration = configuration
            names = try NIOSSLCertificate.fromPEMFile(files.chain).first.map(Self.names) ?? []
        } catch {
            throw .noCertificate(files, reason: "\(error)")
        }
    }

    /// What looks for a renewed certificate.
    var service: any Service { reloader }

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
