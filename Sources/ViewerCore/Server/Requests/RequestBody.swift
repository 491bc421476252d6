import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

extension Request {
    /// The body as a value, from JSON.
    /// - Throws: ``Problem``: 413 when it is longer than `limit` bytes, 415 for another type, 400 for something else.
    func decoded<Value: Decodable>(limit: Int) async throws -> Value {
        guard headers[.contentType]?.hasPrefix("application/json") == true else {
            throw Problem(.unsupportedMediaType, "give a body of application/json")
        }
        let buffer: ByteBuffer
        do {
            buffer = try await body.collect(upTo: limit)
        } catch {
            throw Problem(.contentTooLarge, "the body is longer than \(limit) bytes")
        }
        do {
            return try JSONDecoder().decode(Value.self, from: Data(buffer.readableBytesView))
        } catch {
            throw Problem(.badRequest, "the body is not what is expected here: see openapi.yaml")
        }
    }
}
