/// Holds media bytes until they are written: a received message, or an array in tests.
package protocol MediaPayload: AnyObject, Sendable {
    /// The bytes; their address does not change while the object exists.
    var memory: UnsafeRawBufferPointer { get }
}
