import HTTPTypes
import Hummingbird
import NIOCore

/// An error response: a status and one line.
struct Problem: HTTPResponseError {
    let status: HTTPResponse.Status
    let text: String
    var headers = HTTPFields()

    init(_ status: HTTPResponse.Status, _ text: String, headers: HTTPFields = HTTPFields()) {
        self.status = status
        self.text = text
        self.headers = headers
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        var headers = headers
        headers[.contentType] = "text/plain; charset=utf-8"
        return Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: Self.printable(text) + "\n")))
    }

    /// One line, of a length that fits a log.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(400).map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator: " "
                    default: scalar
                    }
                }))
    }
}
