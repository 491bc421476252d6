import Testing

@testable import Devices

/// Lending of a driver's buffers to a preview.
@Suite struct BufferLendingTests {
    @Test(arguments: [
        // Buffers, those that the driver has after the last picture, whether it may be lent.
        (8, 7, true), (8, 6, false), (8, 4, false), (4, 3, true), (4, 2, false), (3, 2, true),
        (3, 1, false), (2, 1, false), (2, 0, false), (1, 0, false),
    ])
    func `only the last picture is lent, and never half of the buffers`(
        buffers: Int, queued: Int, isLent: Bool
    ) {
        #expect(Camera.canLend(queued: queued, of: buffers) == isLent)
    }
}
