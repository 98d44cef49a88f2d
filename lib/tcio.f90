! The calls of tcio.h for Fortran 2008 programs that use the module mpi_f08: subroutines of the same
! names, with the error class as an optional last argument. include/tcio.h says what they do.
!
! A lazy read writes into `data` after tcio_read() has returned: it must be there, and have the
! attribute ASYNCHRONOUS or TARGET, until tcio_fetch(), tcio_flush() or tcio_close(). Arrays with
! gaps are refused (MPI_ERR_BUFFER), since the compiler would pass a copy; datatypes may have gaps.
module tcio
    use, intrinsic :: iso_c_binding
    use :: mpi_f08
    implicit none
    private

    public :: tcio_file, tcio_open, tcio_write, tcio_write_at, tcio_read, tcio_read_at
    public :: tcio_seek, tcio_tell, tcio_fetch, tcio_flush, tcio_close, tcio_get_info, tcio_strerror

    integer, parameter, public :: TCIO_SEEK_SET = 0, TCIO_SEEK_CUR = 1, TCIO_SEEK_END = 2

    type :: tcio_file
        private
        type(c_ptr) :: handle = c_null_ptr
    end type tcio_file

    ! A count of the default kind, or of MPI_COUNT_KIND.
    interface tcio_write
        module procedure write_int, write_count
    end interface tcio_write
    interface tcio_write_at
        module procedure write_at_int, write_at_count
    end interface tcio_write_at
    interface tcio_read
        module procedure read_int, read_count
    end interface tcio_read
    interface tcio_read_at
        module procedure read_at_int, read_at_count
    end interface tcio_read_at

    ! lib/fortran.c
    interface
        function open_c(comm, name, amode, info, handle) result(rc) bind(C, name='tcio_open_f')
            import :: c_int, c_char, c_ptr
            integer(c_int), value :: comm, amode, info
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), intent(inout) :: handle
            integer(c_int) :: rc
        end function open_c
        ! writes or reads, at the position of the file or somewhere
        function move_c(handle, writing, here, where, data, count, datatype) result(rc) bind(C, name='tcio_move_f')
            import :: c_int, c_ptr, c_int64_t
            type(c_ptr), value :: handle, data
            integer(c_int), value :: writing, here
            integer(c_int64_t), value :: where, count
            integer(c_int), value :: datatype
            integer(c_int) :: rc
        end function move_c
        function seek_c(handle, offset, whence) result(rc) bind(C, name='tcio_seek_f')
            import :: c_int, c_ptr, c_int64_t
            type(c_ptr), value :: handle
            integer(c_int64_t), value :: offset
            integer(c_int), value :: whence
            integer(c_int) :: rc
        end function seek_c
        function tell_c(handle, offset) result(rc) bind(C, name='tcio_tell_f')
            import :: c_int, c_ptr, c_int64_t
            type(c_ptr), value :: handle
            integer(c_int64_t), intent(inout) :: offset
            integer(c_int) :: rc
        end function tell_c
        function fetch_c(handle) result(rc) bind(C, name='tcio_fetch')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int) :: rc
        end function fetch_c
        function flush_c(handle) result(rc) bind(C, name='tcio_flush')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int) :: rc
        end function flush_c
        function close_c(handle) result(rc) bind(C, name='tcio_close')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int) :: rc
        end function close_c
        function info_c(handle, info) result(rc) bind(C, name='tcio_get_info_f')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int), intent(inout) :: info
            integer(c_int) :: rc
        end function info_c
        function strerror_c(error) result(words) bind(C, name='tcio_strerror')
            import :: c_int, c_ptr
            integer(c_int), value :: error
            type(c_ptr) :: words
        end function strerror_c
        function strlen_c(words) result(n) bind(C, name='strlen')
            import :: c_ptr, c_size_t
            type(c_ptr), value :: words
            integer(c_size_t) :: n
        end function strlen_c
    end interface

contains

    subroutine tcio_open(comm, name, amode, info, fh, ierror)
        type(MPI_Comm), intent(in) :: comm
        character(len=*), intent(in) :: name
        integer, intent(in) :: amode
        type(MPI_Info), intent(in) :: info
        type(tcio_file), intent(inout) :: fh
        integer, optional, intent(out) :: ierror
        integer(c_int) :: rc

        rc = open_c(int(comm%MPI_VAL, c_int), trim(name)//c_null_char, int(amode, c_int), &
                    int(info%MPI_VAL, c_int), fh%handle)
        if (present(ierror)) ierror = rc
    end subroutine tcio_open

    subroutine move(fh, writing, here, where, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        integer(c_int), intent(in) :: writing, here
        integer(MPI_OFFSET_KIND), intent(in) :: where
        type(*), dimension(..), target, intent(in) :: data
        integer(MPI_COUNT_KIND), intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror
        integer(c_int) :: rc

        if (is_contiguous(data)) then
            rc = move_c(fh%handle, writing, here, int(where, c_int64_t), c_loc(data), &
                        int(count, c_int64_t), int(datatype%MPI_VAL, c_int))
        else
            rc = MPI_ERR_BUFFER
        end if
        if (present(ierror)) ierror = rc
    end subroutine move

    subroutine write_int(fh, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        type(*), dimension(..), intent(in) :: data
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 1_c_int, 1_c_int, 0_MPI_OFFSET_KIND, data, int(count, MPI_COUNT_KIND), datatype, ierror)
    end subroutine write_int

    subroutine write_count(fh, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        type(*), dimension(..), intent(in) :: data
        integer(MPI_COUNT_KIND), intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 1_c_int, 1_c_int, 0_MPI_OFFSET_KIND, data, count, datatype, ierror)
    end subroutine write_count

    subroutine write_at_int(fh, offset, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        integer(MPI_OFFSET_KIND), intent(in) :: offset
        type(*), dimension(..), intent(in) :: data
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 1_c_int, 0_c_int, offset, data, int(count, MPI_COUNT_KIND), datatype, ierror)
    end subroutine write_at_int

    subroutine write_at_count(fh, offset, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        integer(MPI_OFFSET_KIND), intent(in) :: offset
        type(*), dimension(..), intent(in) :: data
        integer(MPI_COUNT_KIND), intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 1_c_int, 0_c_int, offset, data, count, datatype, ierror)
    end subroutine write_at_count

    subroutine read_int(fh, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        type(*), dimension(..), asynchronous :: data
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 0_c_int, 1_c_int, 0_MPI_OFFSET_KIND, data, int(count, MPI_COUNT_KIND), datatype, ierror)
    end subroutine read_int

    subroutine read_count(fh, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        type(*), dimension(..), asynchronous :: data
        integer(MPI_COUNT_KIND), intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 0_c_int, 1_c_int, 0_MPI_OFFSET_KIND, data, count, datatype, ierror)
    end subroutine read_count

    subroutine read_at_int(fh, offset, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        integer(MPI_OFFSET_KIND), intent(in) :: offset
        type(*), dimension(..), asynchronous :: data
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 0_c_int, 0_c_int, offset, data, int(count, MPI_COUNT_KIND), datatype, ierror)
    end subroutine read_at_int

    subroutine read_at_count(fh, offset, data, count, datatype, ierror)
        type(tcio_file), intent(in) :: fh
        integer(MPI_OFFSET_KIND), intent(in) :: offset
        type(*), dimension(..), asynchronous :: data
        integer(MPI_COUNT_KIND), intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        integer, optional, intent(out) :: ierror

        call move(fh, 0_c_int, 0_c_int, offset, data, count, datatype, ierror)
    end subroutine read_at_count

    subroutine tcio_seek(fh, offset, whence, ierror)
        type(tcio_file), intent(in) :: fh
        integer(MPI_OFFSET_KIND), intent(in) :: offset
        integer, intent(in) :: whence
        integer, optional, intent(out) :: ierror
        integer(c_int) :: rc

        rc = seek_c(fh%handle, int(offset, c_int64_t), int(whence, c_int))
        if (present(ierror)) ierror = rc
    end subroutine tcio_seek

    subroutine tcio_tell(fh, offset, ierror)
        type(tcio_file), intent(in) :: fh
        integer(MPI_OFFSET_KIND), intent(out) :: offset
        integer, optional, intent(out) :: ierror
        integer(c_int64_t) :: at
        integer(c_int) :: rc

        at = 0
        rc = tell_c(fh%handle, at)
        offset = at
        if (present(ierror)) ierror = rc
    end subroutine tcio_tell

    subroutine tcio_fetch(fh, ierror)
        type(tcio_file), intent(in) :: fh
        integer, optional, intent(out) :: ierror
        integer(c_int) :: rc

        rc = fetch_c(fh%handle)
        if (present(ierror)) ierror = rc
    end subroutine tcio_fetch

    subroutine tcio_flush(fh, ierror)
        type(tcio_file), intent(in) :: fh
        integer, optional, intent(out) :: ierror
        integer(c_int) :: rc

        rc = flush_c(fh%handle)
        if (present(ierror)) ierror = rc
    end subroutine tcio_flush

    subroutine tcio_close(fh, ierror)
        type(tcio_file), intent(in) :: fh
        integer, optional, intent(out) :: ierror
        integer(c_int) :: rc

        rc = close_c(fh%handle)
        if (present(ierror)) ierror = rc
    end subroutine tcio_close

    subroutine tcio_get_info(fh, info, ierror)
        type(tcio_file), intent(in) :: fh
        type(MPI_Info), intent(inout) :: info
        integer, optional, intent(out) :: ierror
        integer(c_int) :: rc, made

        made = int(info%MPI_VAL, c_int)
        rc = info_c(fh%handle, made)
        info%MPI_VAL = made
        if (present(ierror)) ierror = rc
    end subroutine tcio_get_info

    function tcio_strerror(error) result(words)
        integer, intent(in) :: error
        character(len=:), allocatable :: words
        character(kind=c_char), pointer :: text(:)
        type(c_ptr) :: p
        integer :: i

        p = strerror_c(int(error, c_int))
        call c_f_pointer(p, text, [strlen_c(p)])
        allocate(character(len=size(text)) :: words)
        do i = 1, size(text)
            words(i:i) = text(i)
        end do
    end function tcio_strerror

end module tcio
