/// Bytes for keys, tokens, salts and nonces, from the kernel's generator (getrandom(2)).
package func randomBytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max) }
}
