import Archive
import HTTPTypes
import Hummingbird

/// A file embedded in the program, uncompressed and compressed.
struct StaticFile: Sendable {
    /// As it is.
    let bytes: [UInt8]
    let contentType: String
    /// The ETag: browsers revalidate each time, and get 304.
    let tag: String
    /// Nil: it would not be shorter.
    private let compressed: [UInt8]?

    init(_ bytes: [UInt8], contentType: String) {
        self.bytes = bytes
        self.contentType = contentType
        tag = Digest(of: bytes).description
        compressed = Gzip.compressed(bytes).flatMap { $0.count < bytes.count ? $0 : nil }
    }

    /// The number of bytes sent to a browser.
    var compressedBytes: Int { compressed?.count ?? bytes.count }

    /// The representation that a request accepts. Each has its own strong ETag (RFC 9110 §8.8.3.3).
    func response(to request: Request, in threads: ReadingThreads) -> Response {
        var answer = FileAnswer(
            file: MemoryFile(bytes: bytes), contentType: contentType, tag: tag)
        answer.isNegotiated = true
        if let compressed,
            AcceptedCodings(request.headers[values: .acceptEncoding]).contains("gzip")
        {
            answer.file = MemoryFile(bytes: compressed)
            answer.tag = "\(tag)-gzip"
            answer.contentEncoding = "gzip"
        }
        return answer.response(to: request, in: threads)
    }
}

/// The content codings that a client accepts (RFC 9110 §12.5.3).
struct AcceptedCodings {
    /// No browser sends a longer list.
    private static let maximumBytes = 1_000

    /// By coding in lower case: whether it is acceptable; a weight of 0 excludes it.
    private var isWanted: [String: Bool] = [:]

    /// - Parameter fields: the lines of `Accept-Encoding`; none: nothing but the file as it is.
    init(_ fields: [String]) {
        guard fields.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumBytes else { return }
        for element in fields.flatMap({ $0.split(separator: ",") }) {
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let coding = parts.first?.lowercased(), !coding.isEmpty else { continue }
            isWanted[coding] = parts.dropFirst().allSatisfy { !Self.isNothing($0) }
        }
    }

    /// `q=0`, `q=0.000`.
    private static func isNothing(_ parameter: String) -> Bool {
        let lower = parameter.lowercased()
        guard lower.hasPrefix("q=") else { return false }
        return lower.dropFirst(2).allSatisfy { $0 == "0" || $0 == "." }
    }

    func contains(_ coding: String) -> Bool { isWanted[coding] ?? isWanted["*"] ?? false }
}
