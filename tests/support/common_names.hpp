// common_names.hpp: names that public headers of C, Windows, X11, Qt and macOS define as macros, all at once, each of
// which breaks what uses it. Headers of ours that are included after it use none (common_names.sh).
//
// Those systems' own headers leave the standard library's usable, which therefore come first: what they include does
// not count.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cfenv>
#include <cfloat>
#include <charconv>
#include <chrono>
#include <cmath>
#include <compare>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#if defined(COMMON_NAMES_BEFORE_EIGEN)
#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>
#include <unsupported/Eigen/CXX11/ThreadPool>
#endif

// As MinGW has it: a macro for a type, and as Windows has the others.
typedef int WINBOOL;
#define BOOL WINBOOL
typedef unsigned int UINT;
typedef float FLOAT;
// C: <complex.h>, <tgmath.h>'s I, <sys/param.h>, <sys/sysmacros.h>, <termios.h>, <ctype.h> of newlib, gnu++20
#undef I
#define I @I @
#undef complex
#define complex @complex @
#undef imaginary
#define imaginary @imaginary @
#undef _Complex_I
#define _Complex_I @_Complex_I @
#undef B0
#define B0 @B0 @
#undef B50
#define B50 @B50 @
#undef B75
#define B75 @B75 @
#undef B110
#define B110 @B110 @
#undef ECHO
#define ECHO @ECHO @
#undef EOF
#define EOF @EOF @
#undef BUFSIZ
#define BUFSIZ @BUFSIZ @
#undef NBBY
#define NBBY @NBBY @
#undef OVERFLOW
#define OVERFLOW @OVERFLOW @
#undef UNDERFLOW
#define UNDERFLOW @UNDERFLOW @
#undef DOMAIN
#define DOMAIN @DOMAIN @
#undef SING
#define SING @SING @
#undef PLOSS
#define PLOSS @PLOSS @
#undef TLOSS
#define TLOSS @TLOSS @
#undef HUGE
#define HUGE @HUGE @
#undef unix
#define unix @unix @
#undef linux
#define linux @linux @
#undef i386
#define i386 @i386 @
#undef alloca
#define alloca @alloca @
#undef _A
#define _A @_A @
#undef _B
#define _B @_B @
#undef _C
#define _C @_C @
#undef _L
#define _L @_L @
#undef _N
#define _N @_N @
#undef _P
#define _P @_P @
#undef _S
#define _S @_S @
#undef _U
#define _U @_U @
#undef _X
#define _X @_X @
#undef major
#define major(x) @major @
#undef minor
#define minor(x) @minor @
#undef makedev
#define makedev(x, y) @makedev @
#undef MIN
#define MIN(a, b) @MIN @
#undef MAX
#define MAX(a, b) @MAX @
#undef howmany
#define howmany(x, y) @howmany @
#undef roundup
#define roundup(x, y) @roundup @
#undef setbit
#define setbit(a, i) @setbit @
#undef clrbit
#define clrbit(a, i) @clrbit @
#undef isset
#define isset(a, i) @isset @
#undef isclr
#define isclr(a, i) @isclr @

// Windows: <windows.h>, <rpcndr.h>, <objbase.h>, <dlgs.h>, <excpt.h>
#undef near
#define near @near @
#undef far
#define far @far @
#undef NEAR
#define NEAR @NEAR @
#undef FAR
#define FAR @FAR @
#undef small
#define small @small @
#undef hyper
#define hyper @hyper @
#undef huge
#define huge @huge @
#undef pascal
#define pascal @pascal @
#undef cdecl
#define cdecl @cdecl @
#undef interface
#define interface @interface @
#undef leave
#define leave @leave @
#undef except
#define except @except @
#undef finally
#define finally @finally @
#undef IN
#define IN @IN @
#undef OUT
#define OUT @OUT @
#undef OPTIONAL
#define OPTIONAL @OPTIONAL @
#undef CONST
#define CONST @CONST @
#undef VOID
#define VOID @VOID @
#undef THIS
#define THIS @THIS @
#undef PURE
#define PURE @PURE @
#undef TRUE
#define TRUE @TRUE @
#undef FALSE
#define FALSE @FALSE @
#undef ERROR
#define ERROR @ERROR @
#undef NOERROR
#define NOERROR @NOERROR @
#undef DELETE
#define DELETE @DELETE @
#undef IGNORE
#define IGNORE @IGNORE @
#undef STRICT
#define STRICT @STRICT @
#undef ABSOLUTE
#define ABSOLUTE @ABSOLUTE @
#undef RELATIVE
#define RELATIVE @RELATIVE @
#undef DIFFERENCE
#define DIFFERENCE @DIFFERENCE @
#undef OPAQUE
#define OPAQUE @OPAQUE @
#undef TRANSPARENT
#define TRANSPARENT @TRANSPARENT @
#undef ALTERNATE
#define ALTERNATE @ALTERNATE @
#undef WINDING
#define WINDING @WINDING @
#undef INFINITE
#define INFINITE @INFINITE @
#undef CALLBACK
#define CALLBACK @CALLBACK @
#undef WINAPI
#define WINAPI @WINAPI @
#undef PASCAL
#define PASCAL @PASCAL @
#undef INTERFACE
#define INTERFACE @INTERFACE @
#undef PLANES
#define PLANES @PLANES @
#undef TECHNOLOGY
#define TECHNOLOGY @TECHNOLOGY @
#undef HALFTONE
#define HALFTONE @HALFTONE @
#undef UNALIGNED
#define UNALIGNED @UNALIGNED @
#undef WIN32
#define WIN32 @WIN32 @
#undef MAXCHAR
#define MAXCHAR @MAXCHAR @
#undef MINCHAR
#define MINCHAR @MINCHAR @
#undef CopyFile
#define CopyFile @CopyFile @
#undef CreateFont
#define CreateFont @CreateFont @
#undef CreateWindow
#define CreateWindow @CreateWindow @
#undef DrawText
#define DrawText @DrawText @
#undef GetMessage
#define GetMessage @GetMessage @
#undef GetObject
#define GetObject @GetObject @
#undef LoadImage
#define LoadImage @LoadImage @
#undef LoadFence
#define LoadFence @LoadFence @
#undef StoreFence
#define StoreFence @StoreFence @
#undef BitTest
#define BitTest @BitTest @
#undef MessageBox
#define MessageBox @MessageBox @
#undef SetProp
#define SetProp @SetProp @
#undef GetProp
#define GetProp @GetProp @
#undef TextOut
#define TextOut @TextOut @
#undef chx1
#define chx1 @chx1 @
#undef cmb1
#define cmb1 @cmb1 @
#undef ctl1
#define ctl1 @ctl1 @
#undef edt1
#define edt1 @edt1 @
#undef frm1
#define frm1 @frm1 @
#undef grp1
#define grp1 @grp1 @
#undef ico1
#define ico1 @ico1 @
#undef lst1
#define lst1 @lst1 @
#undef psh1
#define psh1 @psh1 @
#undef rad1
#define rad1 @rad1 @
#undef rct1
#define rct1 @rct1 @
#undef scr1
#define scr1 @scr1 @
#undef stc1
#define stc1 @stc1 @
#undef min
#define min(a, b) @min @
#undef max
#define max(a, b) @max @
#undef Yield
#define Yield() @Yield @
#undef RGB
#define RGB(r, g, b) @RGB @
#undef TEXT
#define TEXT(x) @TEXT @
#undef FAILED
#define FAILED(x) @FAILED @
#undef SUCCEEDED
#define SUCCEEDED(x) @SUCCEEDED @
#undef ARRAYSIZE
#define ARRAYSIZE(x) @ARRAYSIZE @
#undef LOBYTE
#define LOBYTE(x) @LOBYTE @
#undef HIBYTE
#define HIBYTE(x) @HIBYTE @
#undef LOWORD
#define LOWORD(x) @LOWORD @
#undef HIWORD
#define HIWORD(x) @HIWORD @

// X11: <X11/Xlib.h>, <X11/X.h>, <X11/Xos.h>, <X11/Intrinsic.h>
#undef Bool
#define Bool @Bool @
#undef Status
#define Status @Status @
#undef True
#define True @True @
#undef False
#define False @False @
#undef None
#define None @None @
#undef Success
#define Success @Success @
#undef Always
#define Always @Always @
#undef Above
#define Above @Above @
#undef Below
#define Below @Below @
#undef Absolute
#define Absolute @Absolute @
#undef Complex
#define Complex @Complex @
#undef Convex
#define Convex @Convex @
#undef Nonconvex
#define Nonconvex @Nonconvex @
#undef Cursor
#define Cursor @Cursor @
#undef Expose
#define Expose @Expose @
#undef FocusIn
#define FocusIn @FocusIn @
#undef FocusOut
#define FocusOut @FocusOut @
#undef KeyPress
#define KeyPress @KeyPress @
#undef KeyRelease
#define KeyRelease @KeyRelease @
#undef GrayScale
#define GrayScale @GrayScale @
#undef StaticGray
#define StaticGray @StaticGray @
#undef TrueColor
#define TrueColor @TrueColor @
#undef DirectColor
#define DirectColor @DirectColor @
#undef InputOnly
#define InputOnly @InputOnly @
#undef LSBFirst
#define LSBFirst @LSBFirst @
#undef MSBFirst
#define MSBFirst @MSBFirst @
#undef NoValue
#define NoValue @NoValue @
#undef Opposite
#define Opposite @Opposite @
#undef Unsorted
#define Unsorted @Unsorted @
#undef YSorted
#define YSorted @YSorted @
#undef Successful
#define Successful @Successful @
#undef Suspended
#define Suspended @Suspended @
#undef XYBitmap
#define XYBitmap @XYBitmap @
#undef XYPixmap
#define XYPixmap @XYPixmap @
#undef ZPixmap
#define ZPixmap @ZPixmap @
#undef AllValues
#define AllValues @AllValues @
#undef AnyKey
#define AnyKey @AnyKey @
#undef BadValue
#define BadValue @BadValue @
#undef BadMatch
#define BadMatch @BadMatch @
#undef BadLength
#define BadLength @BadLength @
#undef ControlMask
#define ControlMask @ControlMask @
#undef LockMask
#define LockMask @LockMask @
#undef ShiftMask
#define ShiftMask @ShiftMask @
#undef CurrentTime
#define CurrentTime @CurrentTime @
#undef ParentRelative
#define ParentRelative @ParentRelative @
#undef RepeatNone
#define RepeatNone @RepeatNone @
#undef FillSolid
#define FillSolid @FillSolid @
#undef LineSolid
#define LineSolid @LineSolid @
#undef CapRound
#define CapRound @CapRound @
#undef JoinRound
#define JoinRound @JoinRound @
#undef StateHint
#define StateHint @StateHint @
#undef GXand
#define GXand @GXand @
#undef GXcopy
#define GXcopy @GXcopy @
#undef GXor
#define GXor @GXor @
#undef GXxor
#define GXxor @GXxor @
#undef COUNT
#define COUNT @COUNT @
#undef index
#define index(s, c) @index @
#undef rindex
#define rindex(s, c) @rindex @
#undef bcopy
#define bcopy(a, b, n) @bcopy @
#undef bzero
#define bzero(a, n) @bzero @
#undef Data
#define Data(d, p, n) @Data @
#undef Select
#define Select(n) @Select @
#undef XtOffset
#define XtOffset(t, f) @XtOffset @

// Qt without QT_NO_KEYWORDS: <QObject>
#undef slots
#define slots @slots @
#undef signals
#define signals @signals @
#undef emit
#define emit @emit @
#undef foreach
#define foreach @foreach @
#undef forever
#define forever @forever @
#undef qApp
#define qApp @qApp @
#undef SIGNAL
#define SIGNAL(x) @SIGNAL @
#undef SLOT
#define SLOT(x) @SLOT @
#undef METHOD
#define METHOD(x) @METHOD @

// macOS: <AssertMacros.h>, <objc/objc.h>, <ConditionalMacros.h>; Unreal's check, verify
#undef nil
#define nil @nil @
#undef Nil
#define Nil @Nil @
#undef YES
#define YES @YES @
#undef NO
#define NO @NO @
#undef TYPE_BOOL
#define TYPE_BOOL @TYPE_BOOL @
#undef check
#define check(x) @check @
#undef verify
#define verify(x) @verify @
#undef require
#define require(x, label) @require @
#undef check_error
#define check_error(x) @check_error @
#undef check_string
#define check_string(x, y) @check_string @
#undef verify_string
#define verify_string(x, y) @verify_string @
#undef verify_noerr
#define verify_noerr(x) @verify_noerr @
#undef require_string
#define require_string(x, label, y) @require_string @
#undef require_noerr
#define require_noerr(x, label) @require_noerr @
#undef require_action
#define require_action(x, label, y) @require_action @
#undef require_quiet
#define require_quiet(x, label) @require_quiet @
#undef debug_string
#define debug_string(x) @debug_string @
#undef check_noerr
#define check_noerr(x) @check_noerr @
#undef ensure
#define ensure(x) @ensure @
