/// A camera's answer or address is invalid.
package enum ONVIFError: Error, Hashable, CustomStringConvertible {
    case invalidURL(String)
    case malformedAnswer(String)
    /// A part of an answer exceeds its limit.
    case tooLarge(part: String, limitBytes: Int)

    package var description: String {
        switch self {
        case .invalidURL(let reason): reason
        case .malformedAnswer(let reason): "malformed answer: \(reason)"
        case .tooLarge(let part, let limit):
            "the \(part) of its answer is longer than \(limit) bytes"
        }
    }
}
