import Testing

@testable import Hashing

/// Test vectors of the standards.
@Suite struct HashingTests {
    /// FIPS 180-4's examples, and RFC 1321 §A.5.
    @Test(arguments: [
        (
            HashFunction.sha256, "",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        ),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ])
    func `a hash has the value of its standard`(
        function: HashFunction, message: String, value: String
    ) {
        let hash = function.hash(Array(message.utf8))
        #expect(hash.count == function.byteCount)
        #expect(Self.hexadecimal(hash) == value)
    }

    /// RFC 4231 §4.3, §4.4 and §4.7: a short key, one with any bytes, and one longer than a block.
    @Test(arguments: [
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131),
            Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `a code has the value of RFC 4231`(key: [UInt8], message: [UInt8], value: String) {
        let code = AuthenticationCode.code(of: message, key: key)
        #expect(Self.hexadecimal(code) == value)
        #expect(AuthenticationCode.isValid(code, of: message, key: key))
        #expect(!AuthenticationCode.isValid(code, of: message + [0], key: key))
        #expect(!AuthenticationCode.isValid(Array(code.dropLast()), of: message, key: key))
        #expect(!AuthenticationCode.isValid([], of: message, key: key))
    }

    /// RFC 7914 §12.
    @Test func `a key that scrypt derives has the value of RFC 7914`() {
        let key = Scrypt.derive(
            from: Array("pleaseletmein".utf8), salt: Array("SodiumChloride".utf8), rounds: 16_384,
            blockSize: 8, parallelism: 1, byteCount: 64)
        #expect(
            Self.hexadecimal(key ?? [])
                == "7023bdcb3afd7348461c06cd81fd38eb" + "fda8fbba904f8e3ea9b543f6545da1f2"
                + "d5432955613f0fcf62d49705242a9af9" + "e61e85dc0d651e40dfcf017b45575887")
    }

    @Test func `scrypt accepts the largest cost that an account may have`() {
        let key = Scrypt.derive(
            from: [1], salt: [2], rounds: 1 << 17, blockSize: 16, parallelism: 1, byteCount: 32)
        #expect(key?.count == 32)
        // N must be a power of two.
        #expect(
            Scrypt.derive(
                from: [1], salt: [2], rounds: 1_000, blockSize: 1, parallelism: 1, byteCount: 32)
                == nil)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
