/// What is assumed of clocks: everything a bound promises, it promises under these limits.
package enum ClockLimits {
    /// How fast two clocks may ever run apart: 500 ppm, the most by which a kernel lets itself be steered
    /// and more than any crystal is off, and a tenth for temperature on top.
    package static let skewPPB: Int64 = 550_000
    /// How much the skew may change at once: a time daemon that steers one of the two kernels in small steps.
    package static let skewStepPPB: Int64 = 20_000
    /// How fast the skew may wander besides: 3 ppm in a minute, a box that warms up by a degree or two in it.
    package static let wanderPPBPerSecond: Int64 = 50
    /// No clock reading is as far from zero (73 years), so that sums and differences of offsets never overflow.
    package static let timestampNanoseconds: Int64 = 1 << 61
}
