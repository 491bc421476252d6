import CViewerPage
import HTTPTypes
import Hummingbird

/// The page for browsers: one HTML file at each of its addresses, and its scripts, styles and icon below `/page`.
///
/// The files are in the program and contain no data of an archive, so they are served without a log-in.
struct PageAPI {
    /// Addresses that show the page, besides those of sessions.
    private static let addresses: Set<String> = [
        "/", "/live", "/calendar", "/sessions", "/health", "/account",
    ]
    private static let folder = "/page/"
    /// One live source for iframes; its requests are authorised by its own URL.
    static let embedding = "/embed/"

    let threads: ReadingThreads

    init(threads: ReadingThreads) {
        self.threads = threads
        // Compressed now, not during the first request.
        _ = PageDocument.files
    }

    /// Whether a path is part of the page, which needs no log-in.
    static func isOpen(_ path: String) -> Bool {
        addresses.contains(path) || path.hasPrefix(folder) || path.hasPrefix("/sessions/")
            || path.hasPrefix(embedding)
    }

    func page(_ request: Request, _ context: ViewerContext) async throws -> Response {
        try answer(PageDocument.files[PageDocument(path: request.uri.path)], request)
    }

    func file(_ request: Request, _ context: ViewerContext) async throws -> Response {
        try answer(PageFile.all[context.parameters.get("file") ?? ""], request)
    }

    private func answer(_ file: StaticFile?, _ request: Request) throws(Problem) -> Response {
        guard let file else { throw Problem(.notFound, "the page has no such file") }
        return file.response(to: request, in: threads)
    }
}

/// The files of the page.
enum PageFile {
    enum Kind: String, Sendable {
        case html = "text/html; charset=utf-8"
        case script = "text/javascript; charset=utf-8"
        case style = "text/css; charset=utf-8"
        case image = "image/svg+xml"
    }

    /// By name.
    static let all: [String: StaticFile] = Dictionary(
        uniqueKeysWithValues: UnsafeBufferPointer(
            start: CViewerPage_files(), count: CViewerPage_count()
        ).map { file in
            let name = String(cString: file.name)
            return (name, StaticFile(file.content, contentType: Kind(name).rawValue))
        })

    /// `proto/openapi.yaml`.
    static let interface = StaticFile(
        CViewerPage_openapi().content, contentType: "application/yaml")
}

extension PageFile.Kind {
    /// By a file's suffix.
    fileprivate init(_ name: String) {
        switch name.split(separator: ".").last {
        case "html": self = .html
        case "css": self = .style
        case "svg": self = .image
        default: self = .script
        }
    }
}

extension CViewerPageFile {
    fileprivate var content: [UInt8] { Array(UnsafeBufferPointer(start: bytes, count: size)) }
}
