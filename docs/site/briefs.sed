# The comment that begins a header, as its description for Doxygen.
1,/^#pragma/ {
  s/<\([a-z]*\)>/\\<\1>/g
  s,^//\( \|$\),//!\1,
}
1s,^//! [a-z0-9_]*\.hpp: ,//! \\file\n//! \\brief ,
